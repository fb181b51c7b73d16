/* Memory pools by place (CUDA 13). */
#include "sim/exec/pool.h"

#include "sim/exec/cudart/cudart.h"

static exec_error give(exec_pool **to, exec_pool *pool, const exec_location *where, int type) {
    const exec_error error = exec_pool_at(where, type);
    if (error != EXEC_SUCCESS)
        return error;
    if (to == NULL)
        return EXEC_INVALID_VALUE;
    *to = pool;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaMemGetDefaultMemPool(exec_pool **pool, const exec_location *where, int type) {
    EXEC_CALL(give(pool, exec_pool_default(), where, type));
}
EXPORT exec_error cudaMemGetMemPool(exec_pool **pool, const exec_location *where, int type) {
    EXEC_CALL(give(pool, exec_pool_current(), where, type));
}

static exec_error set(const exec_location *where, int type, exec_pool *pool) {
    const exec_error error = exec_pool_at(where, type);
    return error == EXEC_SUCCESS ? exec_pool_set_current(pool) : error;
}

EXPORT exec_error cudaMemSetMemPool(const exec_location *where, int type, exec_pool *pool) {
    EXEC_CALL(set(where, type, pool));
}
