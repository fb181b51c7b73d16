/* CUDA's driver, for programs that compare with a GPU: they are linked without it. */
#ifndef ASSAY_TESTS_SIM_DRIVER_CALL_H
#define ASSAY_TESTS_SIM_DRIVER_CALL_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *driver; /* libcuda.so.1, which the program opens */

_Noreturn static inline void driver_failed(const char *what, int error) {
    fprintf(stderr, "%s: error %d\n", what, error);
    exit(2);
}

/* Calls a function of the driver; `types`: those of its parameters, in parentheses. Ends the
 * program when that fails. */
#define CALL(name, types, ...)                                                                     \
    do {                                                                                           \
        int(*function) types;                                                                      \
        void *address = dlsym(driver, #name);                                                      \
        memcpy(&function, &address, sizeof function);                                              \
        const int error = address == NULL ? -1 : function(__VA_ARGS__);                            \
        if (error != 0)                                                                            \
            driver_failed(#name, error);                                                           \
    } while (0)

#endif
