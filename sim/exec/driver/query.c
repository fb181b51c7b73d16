/* What the driver tells of streams, of occupancy and of peers. */
#include "sim/exec/allocate.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/handles.h"
#include "sim/exec/launch.h"
#include "sim/exec/properties.h"
#include "sim/exec/sync.h"

/* ---- streams ---- */

static exec_error known(void *stream) {
    exec_stream *s;
    return exec_stream_of(stream, &s);
}

static exec_error flags_of(void *stream, unsigned *flags) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? (exec_error)GIVE(flags, !exec_stream_is_blocking(s)) : error;
}

EXPORT exec_error cuStreamGetFlags(void *stream, unsigned *flags) {
    DRIVER_CALL(flags_of(stream, flags));
}
SAME_AS(cuStreamGetFlags_ptsz, cuStreamGetFlags);

static exec_error priority_of(void *stream, int *priority) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? (exec_error)GIVE(priority, exec_stream_priority(s)) : error;
}

EXPORT exec_error cuStreamGetPriority(void *stream, int *priority) {
    DRIVER_CALL(priority_of(stream, priority));
}
SAME_AS(cuStreamGetPriority_ptsz, cuStreamGetPriority);

static exec_error number_of(void *stream, unsigned long long *number) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? (exec_error)GIVE(number, (uintptr_t)s) : error;
}

EXPORT exec_error cuStreamGetId(void *stream, unsigned long long *number) {
    DRIVER_CALL(number_of(stream, number));
}
SAME_AS(cuStreamGetId_ptsz, cuStreamGetId);

static exec_error device_of(void *stream, int *device) {
    const exec_error error = known(stream);
    return error == EXEC_SUCCESS ? (exec_error)GIVE(device, 0) : error;
}

EXPORT exec_error cuStreamGetDevice(void *stream, int *device) {
    DRIVER_CALL(device_of(stream, device));
}
SAME_AS(cuStreamGetDevice_ptsz, cuStreamGetDevice);

static exec_error context_of(void *stream, void **context) {
    const exec_error error = known(stream);
    return error == EXEC_SUCCESS ? (exec_error)GIVE(context, driver_context()) : error;
}

EXPORT exec_error cuStreamGetCtx(void *stream, void **context) {
    DRIVER_CALL(context_of(stream, context));
}
SAME_AS(cuStreamGetCtx_ptsz, cuStreamGetCtx);

/* No stream is of a green context. */
EXPORT exec_error cuStreamGetCtx_v2(void *stream, void **context, void **green) {
    if (green != NULL)
        *green = NULL;
    DRIVER_CALL(context_of(stream, context));
}
SAME_AS(cuStreamGetCtx_v2_ptsz, cuStreamGetCtx_v2);

/* Hints to a cache that is not simulated. */
EXPORT exec_error cuStreamSetAttribute(void *stream, int attribute, const void *value) {
    (void)attribute, (void)value;
    DRIVER_CALL(known(stream));
}
SAME_AS(cuStreamSetAttribute_ptsz, cuStreamSetAttribute);

EXPORT exec_error cuStreamAttachMemAsync(void *stream, device_pointer memory, size_t bytes,
                                         unsigned flags) {
    (void)stream, (void)bytes, (void)flags;
    DRIVER_CALL(exec_memory_find(at(memory)) != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE);
}
SAME_AS(cuStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync);

EXPORT exec_error cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
    DRIVER_CALL(flags == 0 ? exec_record_event(event, stream) : EXEC_NOT_SUPPORTED);
}
SAME_AS(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);

/* ---- occupancy ---- */

static exec_error blocks(int *n, const exec_kernel *k, int threads, size_t dynamic_shared,
                         unsigned flags) {
    if (!exec_handle_is(k, EXEC_HANDLE_KERNEL) || threads <= 0 || flags > 1)
        return EXEC_INVALID_VALUE;
    return GIVE(n, exec_blocks_per_multiprocessor(k, (uint64_t)threads, dynamic_shared));
}

EXPORT exec_error cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const exec_kernel *k,
                                                                       int threads,
                                                                       size_t dynamic_shared,
                                                                       unsigned flags) {
    DRIVER_CALL(blocks(n, k, threads, dynamic_shared, flags));
}
EXPORT exec_error cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const exec_kernel *k,
                                                          int n, int threads) {
    DRIVER_CALL(bytes != NULL && exec_handle_is(k, EXEC_HANDLE_KERNEL)
                    ? exec_shared_for_blocks(k, n, threads, bytes)
                    : EXEC_INVALID_VALUE);
}

/* The block with which a multiprocessor holds most threads; of those the largest. `grid`: so many
 * blocks fill the device. */
static exec_error best_block(int *grid, int *block, const exec_kernel *k, size_t (*shared)(int),
                             size_t dynamic_shared, int limit, unsigned flags) {
    enum { WARP = 32 };
    int most = 0;
    if (grid == NULL || block == NULL || !exec_handle_is(k, EXEC_HANDLE_KERNEL) || flags > 1)
        return EXEC_INVALID_VALUE;
    const int largest = exec_kernel_threads(k);
    limit = limit <= 0 || limit > largest ? largest : limit;
    for (int threads = (limit + WARP - 1) / WARP * WARP; threads > 0; threads -= WARP) {
        const int size = threads < limit ? threads : limit;
        const size_t bytes = shared != NULL ? shared(size) : dynamic_shared;
        const int n = exec_blocks_per_multiprocessor(k, (uint64_t)size, bytes);
        if (n * size <= most)
            continue;
        most = n * size;
        *block = size;
        *grid = n * EXEC_MULTIPROCESSORS;
    }
    return most > 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

EXPORT exec_error cuOccupancyMaxPotentialBlockSize(int *grid, int *block, const exec_kernel *k,
                                                   size_t (*shared)(int), size_t dynamic_shared,
                                                   int limit) {
    DRIVER_CALL(best_block(grid, block, k, shared, dynamic_shared, limit, 0));
}
EXPORT exec_error cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
                                                            const exec_kernel *k,
                                                            size_t (*shared)(int),
                                                            size_t dynamic_shared, int limit,
                                                            unsigned flags) {
    DRIVER_CALL(best_block(grid, block, k, shared, dynamic_shared, limit, flags));
}

/* ---- peers: there is no second device, and no second context ---- */

EXPORT exec_error cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
    (void)attribute, (void)from, (void)to;
    DRIVER_CALL(value != NULL ? EXEC_INVALID_DEVICE : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuCtxEnablePeerAccess(void *peer, unsigned flags) {
    (void)flags;
    DRIVER_CALL(driver_is_context(peer) ? EXEC_PEER_UNSUPPORTED : EXEC_INVALID_CONTEXT);
}
EXPORT exec_error cuCtxDisablePeerAccess(void *peer) {
    DRIVER_CALL(driver_is_context(peer) ? EXEC_PEER_NOT_ENABLED : EXEC_INVALID_CONTEXT);
}

/* ---- modules: kernels are translated when they are first needed ---- */

EXPORT exec_error cuModuleGetLoadingMode(int *mode) {
    enum { LAZY = 2 };
    DRIVER_CALL(GIVE(mode, LAZY));
}
