/* Images that a program loads by itself: CUDA 12.8's cudaLibrary..., over modules. */
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/handles.h"
#include "sim/exec/module.h"

#include <stdlib.h>

static bool is_library(const exec_module *m) {
    return exec_handle_is(m, EXEC_HANDLE_MODULE);
}

/* Reads it at once: the program may free the image. */
static exec_error load(exec_module **m, const void *image) {
    if (m == NULL || image == NULL)
        return EXEC_INVALID_VALUE;
    exec_error error = exec_module_add(image, "library", m);
    if (error == EXEC_SUCCESS)
        error = exec_module_load(*m);
    return error;
}

EXPORT exec_error cudaLibraryLoadData(exec_module **m, const void *image, int *options,
                                      void **values, unsigned n, int *own, void **own_values,
                                      unsigned n_own) {
    (void)options, (void)values, (void)n, (void)own, (void)own_values, (void)n_own;
    EXEC_CALL(load(m, image));
}

static exec_error load_file(exec_module **m, const char *path) {
    size_t size;
    char *image = path != NULL ? exec_module_file(path, &size) : NULL;
    const exec_error error = image != NULL ? load(m, image) : EXEC_FILE_NOT_FOUND;
    free(image);
    return error;
}

EXPORT exec_error cudaLibraryLoadFromFile(exec_module **m, const char *path, int *options,
                                          void **values, unsigned n, int *own, void **own_values,
                                          unsigned n_own) {
    (void)options, (void)values, (void)n, (void)own, (void)own_values, (void)n_own;
    EXEC_CALL(load_file(m, path));
}

static exec_error unload(exec_module *m) {
    if (!is_library(m))
        return EXEC_INVALID_HANDLE;
    exec_streams_synchronize();
    exec_module_remove(m);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaLibraryUnload(exec_module *m) {
    EXEC_CALL(unload(m));
}

static exec_error kernel(exec_kernel **k, exec_module *m, const char *name) {
    if (k == NULL || name == NULL)
        return EXEC_INVALID_VALUE;
    return is_library(m) ? exec_module_kernel(m, name, k) : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cudaLibraryGetKernel(exec_kernel **k, exec_module *m, const char *name) {
    EXEC_CALL(kernel(k, m, name));
}

static exec_error count(unsigned *n, exec_module *m) {
    if (n == NULL || !is_library(m))
        return n == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_HANDLE;
    return exec_module_count(m, n);
}

EXPORT exec_error cudaLibraryGetKernelCount(unsigned *n, exec_module *m) {
    EXEC_CALL(count(n, m));
}

static exec_error enumerate(exec_kernel **kernels, unsigned n, exec_module *m) {
    if (kernels == NULL || !is_library(m))
        return kernels == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_HANDLE;
    return exec_module_kernels(m, kernels, n);
}

EXPORT exec_error cudaLibraryEnumerateKernels(exec_kernel **kernels, unsigned n, exec_module *m) {
    EXEC_CALL(enumerate(kernels, n, m));
}

static exec_error global(void **address, size_t *bytes, exec_module *m, const char *name) {
    exec_variable *v;
    if (name == NULL || !is_library(m))
        return name == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_HANDLE;
    const exec_error error = exec_module_variable(m, name, &v);
    if (error == EXEC_SUCCESS && address != NULL)
        *address = v->address;
    if (error == EXEC_SUCCESS && bytes != NULL)
        *bytes = v->bytes;
    return error;
}

EXPORT exec_error cudaLibraryGetGlobal(void **address, size_t *bytes, exec_module *m,
                                       const char *name) {
    EXEC_CALL(global(address, bytes, m, name));
}
SAME_AS(cudaLibraryGetManaged, cudaLibraryGetGlobal);
