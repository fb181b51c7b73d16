#include "sim/exec/cudart/cudart.h"

#include <string.h>

/* ---- kernel<<<grid, block, shared, stream>>> ---- */

typedef struct configuration {
    exec_dim grid, block;
    size_t dynamic_shared;
    void *stream;
} configuration;

enum { MOST_CONFIGURATIONS = 64 };
static _Thread_local configuration pushed[MOST_CONFIGURATIONS];
static _Thread_local int n_pushed;

EXPORT unsigned __cudaPushCallConfiguration(exec_dim grid, exec_dim block, size_t dynamic_shared,
                                            void *stream) {
    if (n_pushed == MOST_CONFIGURATIONS)
        return EXEC_OUT_OF_MEMORY;
    pushed[n_pushed++] = (configuration){grid, block, dynamic_shared, stream};
    return EXEC_SUCCESS;
}

EXPORT exec_error __cudaPopCallConfiguration(exec_dim *grid, exec_dim *block,
                                             size_t *dynamic_shared, void *stream) {
    if (n_pushed == 0)
        return EXEC_MISSING_CONFIGURATION;
    const configuration *c = &pushed[--n_pushed];
    *grid = c->grid;
    *block = c->block;
    *dynamic_shared = c->dynamic_shared;
    memcpy(stream, &c->stream, sizeof c->stream);
    return EXEC_SUCCESS;
}

static exec_error launch(const void *function, const exec_launch *l, void **arguments,
                         void *stream) {
    exec_kernel *k;
    exec_stream *s;
    exec_error error = exec_kernel_of(function, &k);
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_launch_kernel(k, l, arguments, s) : error;
}

EXPORT exec_error cudaLaunchKernel(const void *function, exec_dim grid, exec_dim block,
                                   void **arguments, size_t dynamic_shared, void *stream) {
    const exec_launch l = {grid, block, {0}, dynamic_shared, false};
    EXEC_CALL(launch(function, &l, arguments, stream));
}
SAME_AS(cudaLaunchKernel_ptsz, cudaLaunchKernel);

/* What nvcc 12.9 and later call for <<<>>>: the kernel by a handle. */
static exec_error handle_of(void **kernel, const void *function) {
    exec_kernel *k;
    const exec_error error = exec_kernel_of(function, &k);
    *kernel = k;
    /* The launch tells what is wrong, where the program can ask for it. */
    return k != NULL ? EXEC_SUCCESS : error;
}

EXPORT exec_error __cudaGetKernel(void **kernel, const void *function) {
    EXEC_CALL(handle_of(kernel, function));
}

EXPORT exec_error __cudaLaunchKernel(void *kernel, exec_dim grid, exec_dim block, void **arguments,
                                     size_t dynamic_shared, void *stream) {
    const exec_launch l = {grid, block, {0}, dynamic_shared, false};
    exec_error error = exec_call_begin("cudaLaunchKernel");
    if (error == EXEC_SUCCESS)
        error = exec_of_runtime(launch(kernel, &l, arguments, stream));
    return exec_call_end(error);
}
SAME_AS(__cudaLaunchKernel_ptsz, __cudaLaunchKernel);

EXPORT exec_error cudaLaunchCooperativeKernel(const void *function, exec_dim grid, exec_dim block,
                                              void **arguments, size_t dynamic_shared,
                                              void *stream) {
    const exec_launch l = {grid, block, {0}, dynamic_shared, true};
    EXEC_CALL(launch(function, &l, arguments, stream));
}
SAME_AS(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);

exec_launch cudart_launch_of(const launch_config *config) {
    exec_launch l = {config->grid, config->block, {0}, config->dynamic_shared, false};
    for (unsigned i = 0; i < config->n_attributes; ++i) {
        const launch_attribute *a = &config->attribute[i];
        if (a->id == LAUNCH_COOPERATIVE)
            l.cooperative = a->value.number != 0;
        else if (a->id == LAUNCH_CLUSTER)
            l.cluster = a->value.cluster;
    }
    return l;
}

static exec_error launch_by(const launch_config *config, const void *function, void **arguments) {
    if (config == NULL)
        return EXEC_INVALID_VALUE;
    const exec_launch l = cudart_launch_of(config);
    return launch(function, &l, arguments, config->stream);
}

EXPORT exec_error cudaLaunchKernelExC(const launch_config *config, const void *function,
                                      void **arguments) {
    EXEC_CALL(launch_by(config, function, arguments));
}
SAME_AS(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);

/* ---- functions of the host ---- */

static exec_error call(void *stream, void (*function)(void *), void *data) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_call(function, data, s) : error;
}

EXPORT exec_error cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
    EXEC_CALL(call(stream, function, data));
}
SAME_AS(cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc);

static exec_error call_back(void *stream, void (*function)(void *, int, void *), void *data) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_callback(function, data, stream, s) : error;
}

EXPORT exec_error cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *),
                                        void *data, unsigned flags) {
    EXEC_CALL(flags == 0 ? call_back(stream, function, data) : EXEC_INVALID_VALUE);
}
SAME_AS(cudaStreamAddCallback_ptsz, cudaStreamAddCallback);
