/* The launches of CUDA 3.2 and older: a kernel is told its block and its parameters beforehand, one
 * by one, and keeps them. */
#include "sim/exec/driver/driver.h"
#include "sim/exec/handles.h"
#include "sim/exec/launch.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 32764 }; /* of parameters */

typedef struct prepared {
    exec_dim block;
    unsigned shared, bytes;
    char parameters[MOST_BYTES];
} prepared;

static exec_error prepared_of(exec_kernel *k, prepared **p) {
    if (!exec_handle_is(k, EXEC_HANDLE_KERNEL))
        return EXEC_INVALID_HANDLE;
    if (k->prepared == NULL)
        k->prepared = calloc(1, sizeof(prepared));
    *p = k->prepared;
    return *p != NULL ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

static exec_error set_block(exec_kernel *k, int x, int y, int z) {
    prepared *p;
    if (x <= 0 || y <= 0 || z <= 0)
        return EXEC_INVALID_VALUE;
    const exec_error error = prepared_of(k, &p);
    if (error == EXEC_SUCCESS)
        p->block = (exec_dim){(uint32_t)x, (uint32_t)y, (uint32_t)z};
    return error;
}

EXPORT exec_error cuFuncSetBlockShape(exec_kernel *k, int x, int y, int z) {
    DRIVER_CALL(set_block(k, x, y, z));
}

static exec_error set_shared(exec_kernel *k, unsigned bytes) {
    prepared *p;
    const exec_error error = prepared_of(k, &p);
    if (error == EXEC_SUCCESS)
        p->shared = bytes;
    return error;
}

EXPORT exec_error cuFuncSetSharedSize(exec_kernel *k, unsigned bytes) {
    DRIVER_CALL(set_shared(k, bytes));
}

static exec_error set_size(exec_kernel *k, unsigned bytes) {
    prepared *p;
    if (bytes > MOST_BYTES)
        return EXEC_INVALID_VALUE;
    const exec_error error = prepared_of(k, &p);
    if (error == EXEC_SUCCESS)
        p->bytes = bytes;
    return error;
}

EXPORT exec_error cuParamSetSize(exec_kernel *k, unsigned bytes) {
    DRIVER_CALL(set_size(k, bytes));
}

static exec_error set_bytes(exec_kernel *k, int offset, const void *from, unsigned bytes) {
    prepared *p;
    if (from == NULL || offset < 0 || offset > MOST_BYTES || bytes > MOST_BYTES - (unsigned)offset)
        return EXEC_INVALID_VALUE;
    const exec_error error = prepared_of(k, &p);
    if (error == EXEC_SUCCESS)
        memcpy(p->parameters + offset, from, bytes);
    return error;
}

EXPORT exec_error cuParamSetv(exec_kernel *k, int offset, void *from, unsigned bytes) {
    DRIVER_CALL(set_bytes(k, offset, from, bytes));
}
EXPORT exec_error cuParamSeti(exec_kernel *k, int offset, unsigned value) {
    DRIVER_CALL(set_bytes(k, offset, &value, sizeof value));
}
EXPORT exec_error cuParamSetf(exec_kernel *k, int offset, float value) {
    DRIVER_CALL(set_bytes(k, offset, &value, sizeof value));
}

/* The program's parameters are to be as many bytes as the kernel's, which CUDA does not check. */
static exec_error launch(exec_kernel *k, int width, int height, void *stream) {
    prepared *p;
    exec_stream *s;
    exec_work *work;
    exec_error error = prepared_of(k, &p);
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(stream, &s);
    if (error != EXEC_SUCCESS)
        return error;
    if (width <= 0 || height <= 0)
        return EXEC_INVALID_VALUE;
    if (p->bytes != k->function->parameter_bytes)
        exec_problem_in(k->name, "", EXEC_PROBLEM_MISUSE,
                        "%s: cuParamSetSize has promised %u bytes of parameters, but it takes %zu",
                        k->function->own_name, p->bytes, k->function->parameter_bytes);
    const exec_launch l = {{(uint32_t)width, (uint32_t)height, 1}, p->block, {0}, p->shared, false};
    error = exec_launch_work(k, &l, NULL, p->parameters, &work);
    return error == EXEC_SUCCESS ? exec_work_submit(work, s) : error;
}

EXPORT exec_error cuLaunch(exec_kernel *k) {
    DRIVER_CALL(launch(k, 1, 1, NULL));
}
EXPORT exec_error cuLaunchGrid(exec_kernel *k, int width, int height) {
    DRIVER_CALL(launch(k, width, height, NULL));
}
EXPORT exec_error cuLaunchGridAsync(exec_kernel *k, int width, int height, void *stream) {
    DRIVER_CALL(launch(k, width, height, stream));
}
