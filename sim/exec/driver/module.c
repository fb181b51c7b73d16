#include "sim/exec/module.h"

#include "sim/exec/driver/driver.h"
#include "sim/exec/handles.h"
#include "sim/exec/launch.h"
#include "sim/exec/properties.h"

#include <stdlib.h>
#include <string.h>

/* Reads it at once: the program may free the image. */
static exec_error load(exec_module **m, const void *image, const char *named,
                       const driver_jit *jit) {
    if (m == NULL || image == NULL)
        return EXEC_INVALID_VALUE;
    exec_error error = exec_module_add(image, named, m);
    if (error != EXEC_SUCCESS)
        return error;
    const double start = driver_now();
    error = exec_module_load(*m);
    driver_jit_time(jit, driver_now() - start);
    driver_jit_tell(jit, error == EXEC_SUCCESS ? "" : assay_error());
    if (error != EXEC_SUCCESS) {
        exec_module_remove(*m);
        *m = NULL;
    }
    return error;
}

EXPORT exec_error cuModuleLoadData(exec_module **m, const void *image) {
    DRIVER_CALL(load(m, image, exec_image_name("module"), &(driver_jit){0}));
}
EXPORT exec_error cuModuleLoadDataEx(exec_module **m, const void *image, unsigned n, int *options,
                                     void **values) {
    const driver_jit jit = driver_jit_of(n, options, values);
    DRIVER_CALL(load(m, image, exec_image_name("module"), &jit));
}
EXPORT exec_error cuModuleLoadFatBinary(exec_module **m, const void *image) {
    DRIVER_CALL(load(m, image, exec_image_name("module"), &(driver_jit){0}));
}

static exec_error load_file(exec_module **m, const char *path, const driver_jit *jit) {
    size_t size;
    char *text = path != NULL ? exec_module_file(path, &size) : NULL;
    const exec_error error = text != NULL ? load(m, text, path, jit) : EXEC_FILE_NOT_FOUND;
    free(text);
    return error;
}

EXPORT exec_error cuModuleLoad(exec_module **m, const char *path) {
    DRIVER_CALL(load_file(m, path, &(driver_jit){0}));
}
EXPORT exec_error cuLibraryLoadFromFile(exec_module **m, const char *path, int *options,
                                        void **values, unsigned n, int *own_options,
                                        void **own_values, unsigned n_own) {
    const driver_jit jit = driver_jit_of(n, options, values);
    (void)own_options, (void)own_values, (void)n_own;
    DRIVER_CALL(load_file(m, path, &jit));
}

static exec_error unload(exec_module *m) {
    if (!exec_handle_is(m, EXEC_HANDLE_MODULE))
        return EXEC_INVALID_HANDLE;
    exec_streams_synchronize();
    exec_module_remove(m);
    return EXEC_SUCCESS;
}

EXPORT exec_error cuModuleUnload(exec_module *m) {
    DRIVER_CALL(unload(m));
}
EXPORT exec_error cuLibraryUnload(exec_module *m) {
    DRIVER_CALL(unload(m));
}
EXPORT exec_error cuLibraryLoadData(exec_module **m, const void *image, int *options, void **values,
                                    unsigned n, int *own_options, void **own_values,
                                    unsigned n_own) {
    const driver_jit jit = driver_jit_of(n, options, values);
    (void)own_options, (void)own_values, (void)n_own;
    DRIVER_CALL(load(m, image, "library", &jit));
}
EXPORT exec_error cuLibraryGetModule(exec_module **m, exec_module *library) {
    DRIVER_CALL(exec_handle_is(library, EXEC_HANDLE_MODULE) ? GIVE(m, library)
                                                            : EXEC_INVALID_HANDLE);
}

/* ---- what a module holds ---- */

static exec_error kernel(exec_kernel **k, exec_module *m, const char *name) {
    if (k == NULL || name == NULL)
        return EXEC_INVALID_VALUE;
    return exec_handle_is(m, EXEC_HANDLE_MODULE) ? exec_module_kernel(m, name, k)
                                                 : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuModuleGetFunction(exec_kernel **k, exec_module *m, const char *name) {
    DRIVER_CALL(kernel(k, m, name));
}
EXPORT exec_error cuLibraryGetKernel(exec_kernel **k, exec_module *m, const char *name) {
    DRIVER_CALL(kernel(k, m, name));
}
EXPORT exec_error cuKernelGetFunction(exec_kernel **f, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(f, k) : EXEC_INVALID_HANDLE);
}

static exec_error count(unsigned *n, exec_module *m) {
    if (n == NULL)
        return EXEC_INVALID_VALUE;
    return exec_handle_is(m, EXEC_HANDLE_MODULE) ? exec_module_count(m, n) : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuModuleGetFunctionCount(unsigned *n, exec_module *m) {
    DRIVER_CALL(count(n, m));
}
EXPORT exec_error cuLibraryGetKernelCount(unsigned *n, exec_module *m) {
    DRIVER_CALL(count(n, m));
}

static exec_error enumerate(exec_kernel **kernels, unsigned n, exec_module *m) {
    if (kernels == NULL)
        return EXEC_INVALID_VALUE;
    return exec_handle_is(m, EXEC_HANDLE_MODULE) ? exec_module_kernels(m, kernels, n)
                                                 : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuModuleEnumerateFunctions(exec_kernel **kernels, unsigned n, exec_module *m) {
    DRIVER_CALL(enumerate(kernels, n, m));
}
EXPORT exec_error cuLibraryEnumerateKernels(exec_kernel **kernels, unsigned n, exec_module *m) {
    DRIVER_CALL(enumerate(kernels, n, m));
}

static exec_error global(device_pointer *address, size_t *bytes, exec_module *m, const char *name) {
    exec_variable *v;
    if (name == NULL || !exec_handle_is(m, EXEC_HANDLE_MODULE))
        return name == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_HANDLE;
    const exec_error error = exec_module_variable(m, name, &v);
    if (error == EXEC_SUCCESS && address != NULL)
        *address = (device_pointer)(uintptr_t)v->address;
    if (error == EXEC_SUCCESS && bytes != NULL)
        *bytes = v->bytes;
    return error;
}

EXPORT exec_error cuModuleGetGlobal_v2(device_pointer *address, size_t *bytes, exec_module *m,
                                       const char *name) {
    DRIVER_CALL(global(address, bytes, m, name));
}
EXPORT exec_error cuLibraryGetGlobal(device_pointer *address, size_t *bytes, exec_module *m,
                                     const char *name) {
    DRIVER_CALL(global(address, bytes, m, name));
}
SAME_AS(cuLibraryGetManaged, cuLibraryGetGlobal);

/* ---- functions ---- */

enum {
    THREADS,
    SHARED,
    CONSTANTS,
    LOCAL,
    REGISTERS,
    PTX_VERSION,
    BINARY_VERSION,
    CACHED,
    DYNAMIC,
    CARVEOUT
};

static exec_error get(int *value, int attribute, exec_kernel *k) {
    if (!exec_handle_is(k, EXEC_HANDLE_KERNEL))
        return EXEC_INVALID_HANDLE;
    const int own = (int)k->function->shared_bytes;
    switch (attribute) {
    case THREADS:
        return GIVE(value, exec_kernel_threads(k));
    case SHARED:
        return GIVE(value, own);
    case CONSTANTS:
    case CACHED:
        return GIVE(value, 0);
    case LOCAL:
        return GIVE(value, (int)k->function->local_bytes);
    case REGISTERS:
        return GIVE(value, exec_kernel_registers(k));
    case PTX_VERSION:
    case BINARY_VERSION:
        return GIVE(value, EXEC_ARCHITECTURE);
    case DYNAMIC:
        return GIVE(value,
                    k->most_dynamic_shared >= 0 ? k->most_dynamic_shared : EXEC_SHARED - own);
    case CARVEOUT:
        return GIVE(value, k->carveout);
    default:
        return EXEC_INVALID_VALUE;
    }
}

EXPORT exec_error cuFuncGetAttribute(int *value, int attribute, exec_kernel *k) {
    DRIVER_CALL(get(value, attribute, k));
}
EXPORT exec_error cuFuncSetAttribute(exec_kernel *k, int attribute, int value) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? exec_kernel_set(k, attribute, value)
                                                      : EXEC_INVALID_HANDLE);
}
EXPORT exec_error cuFuncSetCacheConfig(exec_kernel *k, int preference) {
    (void)preference;
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? EXEC_SUCCESS : EXEC_INVALID_HANDLE);
}
EXPORT exec_error cuFuncGetName(const char **name, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(name, k->name) : EXEC_INVALID_HANDLE);
}

/* Kernels of libraries, which are functions here; each device has its own attributes of them. */
EXPORT exec_error cuKernelGetAttribute(int *value, int attribute, exec_kernel *k, int device) {
    DRIVER_CALL(device == 0 ? get(value, attribute, k) : EXEC_INVALID_DEVICE);
}

static exec_error set(exec_kernel *k, int attribute, int value, int device) {
    if (device != 0)
        return EXEC_INVALID_DEVICE;
    return exec_handle_is(k, EXEC_HANDLE_KERNEL) ? exec_kernel_set(k, attribute, value)
                                                 : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuKernelSetAttribute(int attribute, int value, exec_kernel *k, int device) {
    DRIVER_CALL(set(k, attribute, value, device));
}

static exec_error known(const exec_kernel *k) {
    return exec_handle_is(k, EXEC_HANDLE_KERNEL) ? EXEC_SUCCESS : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuKernelSetCacheConfig(exec_kernel *k, int preference, int device) {
    (void)preference;
    DRIVER_CALL(device == 0 ? known(k) : EXEC_INVALID_DEVICE);
}
EXPORT exec_error cuFuncSetSharedMemConfig(exec_kernel *k, int width) {
    (void)width;
    DRIVER_CALL(known(k));
}
EXPORT exec_error cuKernelGetName(const char **name, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(name, k->name) : EXEC_INVALID_HANDLE);
}
EXPORT exec_error cuKernelGetLibrary(exec_module **m, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(m, k->module) : EXEC_INVALID_HANDLE);
}
EXPORT exec_error cuFuncGetModule(exec_module **m, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(m, k->module) : EXEC_INVALID_HANDLE);
}

/* A kernel is loaded when the program gets its handle. */
EXPORT exec_error cuFuncIsLoaded(int *state, exec_kernel *k) {
    DRIVER_CALL(exec_handle_is(k, EXEC_HANDLE_KERNEL) ? GIVE(state, 1) : EXEC_INVALID_HANDLE);
}
EXPORT exec_error cuFuncLoad(exec_kernel *k) {
    DRIVER_CALL(known(k));
}

static exec_error parameter(exec_kernel *k, size_t i, size_t *offset, size_t *bytes) {
    if (!exec_handle_is(k, EXEC_HANDLE_KERNEL) || i >= (size_t)k->function->n_parameters)
        return EXEC_INVALID_VALUE;
    const ptx_parameter *p = &k->function->parameters[i];
    if (bytes != NULL)
        *bytes = p->bytes;
    return GIVE(offset, p->offset);
}

EXPORT exec_error cuFuncGetParamInfo(exec_kernel *k, size_t i, size_t *offset, size_t *bytes) {
    DRIVER_CALL(parameter(k, i, offset, bytes));
}
EXPORT exec_error cuKernelGetParamInfo(exec_kernel *k, size_t i, size_t *offset, size_t *bytes) {
    DRIVER_CALL(parameter(k, i, offset, bytes));
}

static exec_error blocks(int *n, exec_kernel *k, int threads, size_t dynamic_shared) {
    if (!exec_handle_is(k, EXEC_HANDLE_KERNEL) || threads <= 0)
        return EXEC_INVALID_VALUE;
    return GIVE(n, exec_blocks_per_multiprocessor(k, (uint64_t)threads, dynamic_shared));
}

EXPORT exec_error cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, exec_kernel *k, int threads,
                                                              size_t dynamic_shared) {
    DRIVER_CALL(blocks(n, k, threads, dynamic_shared));
}

/* ---- launches ---- */

/* `extra`: pairs of a key and a pointer, ended by a key 0: the parameters as they lie, and their
 * size. */
enum { KEY_END, KEY_BUFFER, KEY_BYTES };

static const void *packed(void **extra) {
    for (; extra != NULL && (uintptr_t)extra[0] != KEY_END; extra += 2)
        if ((uintptr_t)extra[0] == KEY_BUFFER)
            return extra[1];
    return NULL;
}

static exec_error launch(void *function, const exec_launch *l, void *stream, void **arguments,
                         void **extra) {
    exec_kernel *k;
    exec_stream *s;
    exec_work *work;
    exec_error error = exec_kernel_of(function, &k);
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS)
        error = exec_launch_work(k, l, arguments, packed(extra), &work);
    return error == EXEC_SUCCESS ? exec_work_submit(work, s) : error;
}

EXPORT exec_error cuLaunchKernel(void *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned dynamic_shared, void *stream,
                                 void **arguments, void **extra) {
    const exec_launch l = {{gx, gy, gz}, {bx, by, bz}, {0}, dynamic_shared, false};
    DRIVER_CALL(launch(k, &l, stream, arguments, extra));
}
SAME_AS(cuLaunchKernel_ptsz, cuLaunchKernel);

EXPORT exec_error cuLaunchCooperativeKernel(void *k, unsigned gx, unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by, unsigned bz,
                                            unsigned dynamic_shared, void *stream,
                                            void **arguments) {
    const exec_launch l = {{gx, gy, gz}, {bx, by, bz}, {0}, dynamic_shared, true};
    DRIVER_CALL(launch(k, &l, stream, arguments, NULL));
}
SAME_AS(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

typedef struct attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        exec_dim cluster;
        int number;
    } value;
} attribute;

typedef struct configuration {
    exec_dim grid, block;
    unsigned dynamic_shared;
    void *stream;
    const attribute *attributes;
    unsigned n;
} configuration;

static exec_error launch_by(const configuration *c, void *k, void **arguments, void **extra) {
    if (c == NULL)
        return EXEC_INVALID_VALUE;
    exec_launch l = {c->grid, c->block, {0}, c->dynamic_shared, false};
    for (unsigned i = 0; i < c->n; ++i) {
        if (c->attributes[i].id == 2)
            l.cooperative = c->attributes[i].value.number != 0;
        else if (c->attributes[i].id == 4)
            l.cluster = c->attributes[i].value.cluster;
    }
    return launch(k, &l, c->stream, arguments, extra);
}

EXPORT exec_error cuLaunchKernelEx(const configuration *c, void *k, void **arguments,
                                   void **extra) {
    DRIVER_CALL(launch_by(c, k, arguments, extra));
}
SAME_AS(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

static exec_error call(void *stream, void (*function)(void *), void *data) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_call(function, data, s) : error;
}

EXPORT exec_error cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    DRIVER_CALL(call(stream, function, data));
}
SAME_AS(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);
