/* Memory pools by location (CUDA 13): the device's, which cudaDevice...MemPool has, and no other.
 */
#include "sim/exec/cudart/cudart.h"

typedef struct location {
    int type, number;
} location;
enum { DEVICE = 1, HOST, NODE };
enum { PINNED = 1, MANAGED };

exec_error cudaDeviceGetDefaultMemPool(void **pool, int device);
exec_error cudaDeviceGetMemPool(void **pool, int device);
exec_error cudaDeviceSetMemPool(int device, void *pool);

static exec_error check(const location *where, int type) {
    if (where == NULL || where->type < (type == MANAGED ? 0 : DEVICE) || where->type > NODE ||
        type < PINNED || type > MANAGED)
        return EXEC_INVALID_VALUE;
    if (where->type == DEVICE && type == PINNED)
        return where->number == 0 ? EXEC_SUCCESS : EXEC_INVALID_DEVICE;
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED,
                 "%s of a pool of the host's or of managed memory is not simulated",
                 exec_call_name());
    return EXEC_NOT_SUPPORTED;
}

static exec_error call(const char *name, const location *where, int type) {
    const exec_error error = exec_call_begin(name);
    return exec_call_end(error == EXEC_SUCCESS ? check(where, type) : error);
}

EXPORT exec_error cudaMemGetDefaultMemPool(void **pool, const location *where, int type) {
    const exec_error error = call(__func__, where, type);
    return error == EXEC_SUCCESS ? cudaDeviceGetDefaultMemPool(pool, 0) : error;
}
EXPORT exec_error cudaMemGetMemPool(void **pool, const location *where, int type) {
    const exec_error error = call(__func__, where, type);
    return error == EXEC_SUCCESS ? cudaDeviceGetMemPool(pool, 0) : error;
}
EXPORT exec_error cudaMemSetMemPool(const location *where, int type, void *pool) {
    const exec_error error = call(__func__, where, type);
    return error == EXEC_SUCCESS ? cudaDeviceSetMemPool(0, pool) : error;
}
