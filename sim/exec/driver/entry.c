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

/* Newer forms of a function end in _v2, _v3, _v4; the newest that is here. CUDA 13 has the fourth
 * of cuCtxCreate under that name. */
static void *find(const char *name, int version) {
    Dl_info here;
    void *library = NULL, *found = NULL;
    if (dladdr((const void *)(uintptr_t)find, &here) != 0)
        library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    for (int v = version >= 13000 ? 4 : 3; library != NULL && found == NULL && v >= 1; --v) {
        char full[128];
        snprintf(full, sizeof full, v > 1 ? "%s_v%d" : "%s", name, v);
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
