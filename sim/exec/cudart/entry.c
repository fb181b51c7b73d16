/* Functions by name: the driver's, which CUTLASS asks for, and the runtime's own. */
#include "sim/exec/cudart/cudart.h"

#include <dlfcn.h>

enum { FOUND, NOT_FOUND };
typedef exec_error get_address(const char *name, void **function, int version, uint64_t flags,
                               int *found);

static exec_error of_driver(const char *name, void **function, int version, int *status) {
    if (name == NULL || function == NULL)
        return EXEC_INVALID_VALUE;
    *function = NULL;
    /* The stand-in, which lies beside this one. */
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *found = driver != NULL ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    if (found != NULL &&
        (*(get_address **)&found)(name, function, version, 0, NULL) != EXEC_SUCCESS)
        *function = NULL;
    if (status != NULL)
        *status = *function != NULL ? FOUND : NOT_FOUND;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGetDriverEntryPoint(const char *name, void **function,
                                          unsigned long long flags, int *status) {
    (void)flags;
    EXEC_CALL(of_driver(name, function, 1000 * EXEC_CUDART, status));
}
SAME_AS(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);

EXPORT exec_error cudaGetDriverEntryPointByVersion(const char *name, void **function,
                                                   unsigned version, unsigned long long flags,
                                                   int *status) {
    (void)flags;
    EXEC_CALL(of_driver(name, function, (int)version, status));
}
SAME_AS(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
