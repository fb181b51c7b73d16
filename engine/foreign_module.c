#include "engine/foreign_module.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIMENSION = INT32_MAX,
    PLAIN_SHARED = 48 << 10,
    ATTRIBUTE_DYNAMIC_SHARED = 8,
    LOG = 512
};
enum { OPTION_ERROR_LOG = 5, OPTION_ERROR_LOG_BYTES = 6 }; /* of CUjit_option */

typedef struct driver {
    int (*init)(unsigned);
    int (*context_now)(void **);
    int (*context_retain)(void **, int);
    int (*context_set)(void *);
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*function)(void **, void *, const char *);
    int (*set)(void *, int, int);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*error_name)(int, const char **);
    int (*parameter)(void *, size_t, size_t *, size_t *); /* NULL: before CUDA 12.4 */
} driver;

typedef struct kernel {
    void *function;
    bool known; /* what its parameters are */
    int32_t n;
    size_t bytes[BINDING_ARGUMENTS];
} kernel;

static struct {
    driver driver;
    void *module;
    kernel kernel[ASSAY_STAGES];
} the;

/* ---- the driver ---- */

static bool find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static assay_status open_driver(driver *d) {
    void *l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (l == NULL)
        return assay_fail(ASSAY_ERR_DEVICE, "kernels of a module need CUDA's driver: %s",
                          dlerror());
    const bool all =
        find(l, "cuInit", &d->init) && find(l, "cuCtxGetCurrent", &d->context_now) &&
        find(l, "cuDevicePrimaryCtxRetain", &d->context_retain) &&
        find(l, "cuCtxSetCurrent", &d->context_set) && find(l, "cuModuleLoadDataEx", &d->load) &&
        find(l, "cuModuleGetFunction", &d->function) && find(l, "cuFuncSetAttribute", &d->set) &&
        find(l, "cuLaunchKernel", &d->launch) && find(l, "cuGetErrorName", &d->error_name);
    (void)find(l, "cuFuncGetParamInfo", &d->parameter);
    return all ? ASSAY_OK
               : assay_fail(ASSAY_ERR_DEVICE, "libcuda.so.1 lacks functions; is it CUDA's driver?");
}

static assay_status told(int error, const char *what) {
    const char *name = NULL;
    if (error == 0)
        return ASSAY_OK;
    (void)the.driver.error_name(error, &name);
    return assay_fail(ASSAY_ERR_KERNEL, "%s returned %d (%s)", what, error,
                      name != NULL ? name : "an unknown error");
}

/* The runtime's context, which a device's memory is in. */
static assay_status enter_context(const driver *d) {
    void *context = NULL;
    assay_status status = told(d->init(0), "cuInit");
    if (status == ASSAY_OK)
        status = told(d->context_now(&context), "cuCtxGetCurrent");
    if (status != ASSAY_OK || context != NULL)
        return status;
    status = told(d->context_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    return status == ASSAY_OK ? told(d->context_set(context), "cuCtxSetCurrent") : status;
}

/* ---- the module ---- */

/* The whole file, and a zero behind it. */
static assay_status read_file(const char *path, char **bytes) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
        *bytes = calloc((size_t)size + 1, 1);
    const bool whole = *bytes != NULL && fread(*bytes, 1, (size_t)size, file) == (size_t)size;
    if (file != NULL)
        (void)fclose(file);
    if (whole)
        return ASSAY_OK;
    free(*bytes);
    *bytes = NULL;
    return assay_fail(ASSAY_ERR_FILE, "%.200s: the module cannot be read", path);
}

/* The cause of an error of loading, by CUDA's number; "": the driver's own words tell. */
static const char *remedy(int error) {
    switch (error) {
    case 200: /* CUDA_ERROR_INVALID_IMAGE */
        return "; it is damaged, or neither PTX nor machine code";
    case 209: /* CUDA_ERROR_NO_BINARY_FOR_GPU */
        return "; it is for another GPU: compile it for this one (nvcc -arch=native)";
    case 222: /* CUDA_ERROR_UNSUPPORTED_PTX_VERSION */
        return "; its PTX is newer than this driver: compile it with an older CUDA";
    default:
        return "";
    }
}

/* The driver's own words are lines. */
static void join_lines(char *text) {
    for (char *c = text; *c != '\0'; ++c)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; --n)
        text[n - 1] = '\0';
}

static assay_status load(const char *file) {
    char log[LOG] = "", *bytes, line[256];
    int error = 0;
    int option[] = {OPTION_ERROR_LOG, OPTION_ERROR_LOG_BYTES};
    void *value[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    assay_status status = read_file(file, &bytes);
    if (status == ASSAY_OK)
        error = the.driver.load(&the.module, bytes, 2, option, value);
    if (error != 0) {
        status = told(error, "cuModuleLoadDataEx");
        join_lines(log);
        snprintf(line, sizeof line, "%s", assay_error());
        status =
            assay_fail(status, "%s%s%s%s", line, log[0] != '\0' ? ": " : "", log, remedy(error));
    }
    free(bytes);
    return status;
}

/* One parameter more than the binding may have. */
static void measure(kernel *k) {
    size_t offset, bytes;
    k->known = the.driver.parameter != NULL;
    for (k->n = 0; k->known && k->n < BINDING_ARGUMENTS; ++k->n) {
        if (the.driver.parameter(k->function, (size_t)k->n, &offset, &bytes) != 0)
            return;
        k->bytes[k->n] = bytes;
    }
}

static assay_status find_kernel(const binding_launcher *l, kernel *k) {
    if (the.driver.function(&k->function, the.module, l->symbol) != 0)
        return assay_fail(ASSAY_ERR_USAGE, "the module has no kernel %s", l->symbol);
    measure(k);
    if (!k->known || k->n == l->count)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "%s has %d parameters, and the binding %d", l->symbol, k->n,
                      l->count);
}

assay_status foreign_module_load(const char *file, const binding *b) {
    assay_status status = ASSAY_OK;
    if (the.module != NULL)
        return ASSAY_OK;
    status = open_driver(&the.driver);
    if (status == ASSAY_OK)
        status = enter_context(&the.driver);
    if (status == ASSAY_OK)
        status = load(file);
    for (int s = 0; status == ASSAY_OK && s < ASSAY_STAGES; ++s)
        if (b->stage[s].symbol[0] != '\0')
            status = find_kernel(&b->stage[s], &the.kernel[s]);
    if (status != ASSAY_OK)
        the.module = NULL;
    return status;
}

/* ---- launches ---- */

typedef struct geometry {
    int64_t grid[3], block[3], shared;
} geometry;

static assay_status find_geometry(const binding *b, const foreign_call *c, geometry *g) {
    const binding_geometry *from = &b->geometry[c->stage];
    assay_status status = foreign_sizes(c, from->grid, 3, 1, g->grid);
    if (status == ASSAY_OK)
        status = foreign_sizes(c, from->block, 3, 1, g->block);
    if (status == ASSAY_OK)
        status = foreign_sizes(c, from->shared, 1, 0, &g->shared);
    for (int i = 0; status == ASSAY_OK && i < 3; ++i)
        if (g->grid[i] > MOST_DIMENSION || g->block[i] > MOST_DIMENSION ||
            g->shared > MOST_DIMENSION)
            status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                                "%s: a grid, a block or shared memory of 2^31 or more",
                                b->stage[c->stage].symbol);
    return status;
}

assay_status foreign_module_check(const binding *b, const foreign_call *c) {
    geometry g;
    return find_geometry(b, c, &g);
}

static assay_status misfit(const binding_launcher *l, int32_t i, size_t bytes) {
    return assay_fail(ASSAY_ERR_KERNEL, "%s: parameter %d has %zu bytes, which %s does not fit",
                      l->symbol, i, bytes, l->argument[i].value);
}

static assay_status put_real(const binding_launcher *l, int32_t i, size_t bytes, double value,
                             uint64_t *slot) {
    const binding_type type = l->argument[i].type;
    const bool narrow = type == BINDING_FLOAT || (type == BINDING_UNTOLD && bytes == sizeof(float));
    const size_t own = narrow ? sizeof(float) : sizeof(double);
    const float low = (float)value;
    if (bytes != 0 && bytes != own)
        return misfit(l, i, bytes);
    memcpy(slot, narrow ? (const void *)&low : (const void *)&value, own);
    return ASSAY_OK;
}

static assay_status put_integer(const binding_launcher *l, int32_t i, size_t bytes, int64_t value,
                                uint64_t *slot) {
    const int bits = 8 * (int)bytes;
    const bool told_narrow = l->argument[i].type == BINDING_INT32;
    *slot = (uint64_t)value;
    if (bytes == 0 || (bytes == 8 && !told_narrow))
        return ASSAY_OK;
    if ((bytes != 1 && bytes != 2 && bytes != 4) || value < -(INT64_C(1) << (bits - 1)) ||
        value >= INT64_C(1) << bits)
        return misfit(l, i, bytes);
    return ASSAY_OK;
}

/* `bytes`: of the parameter; 0: not known. */
static assay_status put(const binding_launcher *l, int32_t i, size_t bytes, const foreign_value *v,
                        uint64_t *slot) {
    const binding_type type = l->argument[i].type;
    const bool real = type == BINDING_FLOAT || type == BINDING_DOUBLE;
    switch (v->kind) {
    case FOREIGN_TENSOR:
    case FOREIGN_POINTER:
    case FOREIGN_ABSENT:
        *slot = v->kind == FOREIGN_TENSOR ? (uint64_t)(uintptr_t)v->tensor->data
                                          : (uint64_t)(uintptr_t)v->pointer;
        return bytes == 0 || bytes == sizeof(void *) ? ASSAY_OK : misfit(l, i, bytes);
    case FOREIGN_INTEGER:
        return real ? put_real(l, i, bytes, (double)v->integer, slot)
                    : put_integer(l, i, bytes, v->integer, slot);
    case FOREIGN_REAL:
        break;
    }
    return real || type == BINDING_UNTOLD ? put_real(l, i, bytes, v->real, slot)
                                          : put_integer(l, i, bytes, (int64_t)v->real, slot);
}

static assay_status start(const kernel *k, const binding_launcher *l, const geometry *g,
                          void *stream, void **arguments) {
    const driver *d = &the.driver;
    assay_status status = ASSAY_OK;
    if (g->shared > PLAIN_SHARED)
        status = told(d->set(k->function, ATTRIBUTE_DYNAMIC_SHARED, (int)g->shared),
                      "cuFuncSetAttribute of its dynamic shared memory");
    if (status == ASSAY_OK)
        status =
            told(d->launch(k->function, (unsigned)g->grid[0], (unsigned)g->grid[1],
                           (unsigned)g->grid[2], (unsigned)g->block[0], (unsigned)g->block[1],
                           (unsigned)g->block[2], (unsigned)g->shared, stream, arguments, NULL),
                 "cuLaunchKernel");
    char line[256];
    snprintf(line, sizeof line, "%s", assay_error());
    return status == ASSAY_OK
               ? ASSAY_OK
               : assay_fail(status,
                            "%s: %s: grid %" PRId64 " x %" PRId64 " x %" PRId64 ", block %" PRId64
                            " x %" PRId64 " x %" PRId64 ", %" PRId64 " bytes of shared memory",
                            l->symbol, line, g->grid[0], g->grid[1], g->grid[2], g->block[0],
                            g->block[1], g->block[2], g->shared);
}

assay_status foreign_module_launch(const binding *b, const foreign_call *c) {
    const binding_launcher *l = &b->stage[c->stage];
    const kernel *k = &the.kernel[c->stage];
    uint64_t slot[BINDING_ARGUMENTS] = {0};
    void *arguments[BINDING_ARGUMENTS];
    geometry g;
    assay_status status = find_geometry(b, c, &g);
    for (int32_t i = 0; status == ASSAY_OK && i < l->count; ++i) {
        foreign_value v;
        arguments[i] = &slot[i];
        status = foreign_find(c, &l->argument[i], &v);
        if (status == ASSAY_OK)
            status = put(l, i, k->known ? k->bytes[i] : 0, &v, &slot[i]);
    }
    if (status != ASSAY_OK || g.grid[0] == 0 || g.grid[1] == 0 || g.grid[2] == 0)
        return status;
    return start(k, l, &g, c->call->stream, arguments);
}
