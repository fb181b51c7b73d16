/* Functions of the driver by name, and those that are not simulated. */
#include "sim/exec/driver/driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static exec_error absent(const char *name) {
    exec_call_begin(name);
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s is not simulated", name);
    return exec_call_leave(EXEC_NOT_SUPPORTED);
}

#define EXEC_ABSENT(name)                                                                          \
    EXPORT exec_error name(void) {                                                                 \
        return absent(#name);                                                                      \
    }
#include "sim/exec/driver/absent.def"

/* Newer forms of a function end in _v2, _v3, _v4. Those that came after CUDA 11.0, with the version
 * from which on the plain name means them. */
static const struct {
    const char *name;
    int since;
} later[] = {
    {"cuCtxCreate_v3", 11040},
    {"cuCtxCreate_v4", 12050},
    {"cuCtxGetDevice_v2", 13000},
    {"cuCtxSynchronize_v2", 13000},
    {"cuDeviceGetUuid_v2", 11040},
    {"cuEventElapsedTime_v2", 12080},
    {"cuGetProcAddress_v2", 12000},
    {"cuGraphAddDependencies_v2", 12030},
    {"cuGraphAddKernelNode_v2", 12000},
    {"cuGraphAddNode_v2", 12030},
    {"cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuGraphExecUpdate_v2", 12000},
    {"cuGraphGetEdges_v2", 12030},
    {"cuGraphKernelNodeGetParams_v2", 12000},
    {"cuGraphKernelNodeSetParams_v2", 12000},
    {"cuGraphNodeGetDependencies_v2", 12030},
    {"cuGraphNodeGetDependentNodes_v2", 12030},
    {"cuGraphRemoveDependencies_v2", 12030},
    {"cuMemAdvise_v2", 12020},
    {"cuMemPrefetchAsync_v2", 12020},
    {"cuMemcpy3DBatchAsync_v2", 13000},
    {"cuMemcpyBatchAsync_v2", 13000},
    {"cuStreamBatchMemOp_v2", 11070},
    {"cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetCaptureInfo_v3", 12030},
    {"cuStreamGetCtx_v2", 12050},
    {"cuStreamUpdateCaptureDependencies_v2", 12030},
    {"cuStreamWaitValue32_v2", 11070},
    {"cuStreamWaitValue64_v2", 11070},
    {"cuStreamWriteValue32_v2", 11070},
    {"cuStreamWriteValue64_v2", 11070},
};

static bool is_known(const char *name, int version) {
    for (size_t i = 0; i < sizeof later / sizeof later[0]; ++i)
        if (strcmp(later[i].name, name) == 0)
            return version >= later[i].since;
    return true;
}

/* The newest form that the version knows. */
static void *find(const char *name, int version) {
    enum { NEWEST = 4 };
    Dl_info here;
    void *library = NULL, *found = NULL;
    if (dladdr((const void *)(uintptr_t)find, &here) != 0)
        library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    for (int v = NEWEST; library != NULL && found == NULL && v >= 1; --v) {
        char full[128];
        snprintf(full, sizeof full, v > 1 ? "%s_v%d" : "%s", name, v);
        if (is_known(full, version))
            found = dlsym(library, full);
    }
    if (library != NULL)
        dlclose(library);
    return found;
}

static exec_error address_of(const char *name, void **function, int version, int *status) {
    if (name == NULL || function == NULL || strncmp(name, "cu", 2) != 0)
        return EXEC_INVALID_VALUE;
    const bool flags = version >= 12000 && strcmp(name, "cuGraphInstantiate") == 0;
    *function = find(flags ? "cuGraphInstantiateWithFlags" : name, version);
    if (status != NULL)
        *status = *function != NULL ? 0 : 1;
    return *function != NULL ? EXEC_SUCCESS : EXEC_NOT_FOUND;
}

EXPORT exec_error cuGetProcAddress_v2(const char *name, void **function, int version,
                                      uint64_t flags, int *status) {
    (void)flags;
    DRIVER_CALL(address_of(name, function, version, status));
}
EXPORT exec_error cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    (void)flags;
    DRIVER_CALL(address_of(name, function, version, NULL));
}

/* Tables that are not documented, which CUDA's own libraries ask for. */
EXPORT exec_error cuGetExportTable(const void **table, const void *id) {
    (void)id;
    exec_call_begin(__func__);
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED,
                 "a library of NVIDIA's that is no stand-in asks for the driver's internal tables "
                 "(cuGetExportTable), and will not work: a static CUDA runtime that was loaded "
                 "later, or a library of CUDA's");
    if (table != NULL)
        *table = NULL;
    return exec_call_leave(EXEC_NOT_FOUND);
}
