#include "sim/exec/attributes.h"
#include "sim/exec/capture.h"
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/sync.h"

/* ---- streams ---- */

EXPORT exec_error cudaStreamCreate(void **stream) {
    EXEC_CALL(exec_make_stream(stream, 0, 0));
}
EXPORT exec_error cudaStreamCreateWithFlags(void **stream, unsigned flags) {
    EXEC_CALL(exec_make_stream(stream, flags, 0));
}
EXPORT exec_error cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    EXEC_CALL(exec_make_stream(stream, flags, priority));
}
EXPORT exec_error cudaStreamDestroy(void *stream) {
    EXEC_CALL(exec_drop_stream(stream));
}
EXPORT exec_error cudaStreamSynchronize(void *stream) {
    EXEC_CALL(exec_sync_stream(stream));
}
SAME_AS(cudaStreamSynchronize_ptsz, cudaStreamSynchronize);
EXPORT exec_error cudaStreamQuery(void *stream) {
    EXEC_CALL(exec_ask_stream(stream));
}
SAME_AS(cudaStreamQuery_ptsz, cudaStreamQuery);
EXPORT exec_error cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
    EXEC_CALL(flags == 0   ? exec_stream_wait_event(stream, event)
              : flags == 1 ? exec_wait_external(stream, event)
                           : EXEC_INVALID_VALUE);
}
SAME_AS(cudaStreamWaitEvent_ptsz, cudaStreamWaitEvent);

static exec_error flags_of(void *stream, unsigned *flags) {
    exec_stream *s;
    const exec_error error = flags != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *flags = !exec_stream_is_blocking(s);
    return error;
}

EXPORT exec_error cudaStreamGetFlags(void *stream, unsigned *flags) {
    EXEC_CALL(flags_of(stream, flags));
}
SAME_AS(cudaStreamGetFlags_ptsz, cudaStreamGetFlags);

static exec_error priority_of(void *stream, int *priority) {
    exec_stream *s;
    const exec_error error = priority != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *priority = exec_stream_priority(s);
    return error;
}

EXPORT exec_error cudaStreamGetPriority(void *stream, int *priority) {
    EXEC_CALL(priority_of(stream, priority));
}
SAME_AS(cudaStreamGetPriority_ptsz, cudaStreamGetPriority);

static exec_error device_of(void *stream, int *device) {
    exec_stream *s;
    const exec_error error = device != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *device = 0;
    return error;
}

EXPORT exec_error cudaStreamGetDevice(void *stream, int *device) {
    EXEC_CALL(device_of(stream, device));
}
SAME_AS(cudaStreamGetDevice_ptsz, cudaStreamGetDevice);

static exec_error number_of(void *stream, uint64_t *number) {
    exec_stream *s;
    const exec_error error = number != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *number = (uint64_t)(uintptr_t)s;
    return error;
}

EXPORT exec_error cudaStreamGetId(void *stream, uint64_t *number) {
    EXEC_CALL(number_of(stream, number));
}
SAME_AS(cudaStreamGetId_ptsz, cudaStreamGetId);

/* Hints, which change nothing here but the priority that the stream tells. */
enum { OF_PRIORITY = 8 };

static exec_error set_attribute(void *stream, int id, const void *value) {
    exec_stream *s;
    const exec_error error =
        value != NULL && id > 0 ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    if (id == OF_PRIORITY)
        exec_stream_set_priority(s, *(const int *)value);
    return exec_attribute_set(exec_stream_attributes(s), id, value);
}

EXPORT exec_error cudaStreamSetAttribute(void *stream, int id, const void *value) {
    EXEC_CALL(set_attribute(stream, id, value));
}
SAME_AS(cudaStreamSetAttribute_ptsz, cudaStreamSetAttribute);

static exec_error get_attribute(void *stream, int id, void *value) {
    exec_stream *s;
    const exec_error error =
        value != NULL && id > 0 ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    exec_attribute_get(exec_stream_attributes(s), id, value);
    if (id == OF_PRIORITY)
        *(int *)value = exec_stream_priority(s);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaStreamGetAttribute(void *stream, int id, void *value) {
    EXEC_CALL(get_attribute(stream, id, value));
}
SAME_AS(cudaStreamGetAttribute_ptsz, cudaStreamGetAttribute);

static exec_error copy_attributes(void *to, void *from) {
    exec_stream *t, *f;
    exec_error error = exec_stream_of(to, &t);
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(from, &f);
    return error == EXEC_SUCCESS
               ? exec_attributes_copy(exec_stream_attributes(t), exec_stream_attributes(f))
               : error;
}

EXPORT exec_error cudaStreamCopyAttributes(void *to, void *from) {
    EXEC_CALL(copy_attributes(to, from));
}
SAME_AS(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes);
EXPORT exec_error cudaCtxResetPersistingL2Cache(void) {
    EXEC_CALL(EXEC_SUCCESS);
}

EXPORT exec_error cudaDeviceGetStreamPriorityRange(int *lowest, int *highest) {
    if (lowest != NULL)
        *lowest = 0;
    if (highest != NULL)
        *highest = EXEC_HIGHEST_PRIORITY;
    EXEC_CALL(EXEC_SUCCESS);
}

/* ---- events ---- */

EXPORT exec_error cudaEventCreate(void **event) {
    EXEC_CALL(exec_make_event(event, 0));
}
EXPORT exec_error cudaEventCreateWithFlags(void **event, unsigned flags) {
    EXEC_CALL(exec_make_event(event, flags));
}
EXPORT exec_error cudaEventDestroy(void *event) {
    EXEC_CALL(exec_drop_event(event));
}
EXPORT exec_error cudaEventRecord(void *event, void *stream) {
    EXEC_CALL(exec_record_event(event, stream));
}
SAME_AS(cudaEventRecord_ptsz, cudaEventRecord);
EXPORT exec_error cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
    EXEC_CALL(flags == 0   ? exec_record_event(event, stream)
              : flags == 1 ? exec_record_external(event, stream)
                           : EXEC_INVALID_VALUE);
}
SAME_AS(cudaEventRecordWithFlags_ptsz, cudaEventRecordWithFlags);
EXPORT exec_error cudaEventSynchronize(void *event) {
    EXEC_CALL(exec_sync_event(event));
}
EXPORT exec_error cudaEventQuery(void *event) {
    EXEC_CALL(exec_ask_event(event));
}
EXPORT exec_error cudaEventElapsedTime(float *ms, void *from, void *to) {
    EXEC_CALL(exec_time_events(ms, from, to));
}
#if EXEC_CUDART == 12
SAME_AS(cudaEventElapsedTime_v2, cudaEventElapsedTime);
#endif

/* ---- capture ---- */

static exec_error begin(void *stream, exec_graph *graph, int mode) {
    exec_stream *s;
    const exec_error error =
        mode >= 0 && mode <= 2 ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? exec_capture_begin(s, graph, (exec_capture_mode)mode) : error;
}

EXPORT exec_error cudaStreamBeginCapture(void *stream, int mode) {
    EXEC_CALL(begin(stream, NULL, mode));
}
SAME_AS(cudaStreamBeginCapture_ptsz, cudaStreamBeginCapture);

static exec_error begin_to(void *stream, exec_graph *graph, exec_node *const *needs, size_t n,
                           int mode) {
    exec_stream *s;
    exec_error error = graph != NULL ? begin(stream, graph, mode) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_capture_set_needs(s, needs, n, true) : error;
}

EXPORT exec_error cudaStreamBeginCaptureToGraph(void *stream, exec_graph *graph,
                                                exec_node *const *needs, const void *edges,
                                                size_t n, int mode) {
    (void)edges;
    EXEC_CALL(begin_to(stream, graph, needs, n, mode));
}
SAME_AS(cudaStreamBeginCaptureToGraph_ptsz, cudaStreamBeginCaptureToGraph);

static exec_error end(void *stream, exec_graph **graph) {
    exec_stream *s;
    exec_graph *got;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_capture_end(s, graph != NULL ? graph : &got) : error;
}

EXPORT exec_error cudaStreamEndCapture(void *stream, exec_graph **graph) {
    EXEC_CALL(end(stream, graph));
}
SAME_AS(cudaStreamEndCapture_ptsz, cudaStreamEndCapture);

static exec_error is_capturing(void *stream, int *status) {
    exec_stream *s;
    const exec_error error = status != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *status = exec_capture_status(s);
    return error;
}

EXPORT exec_error cudaStreamIsCapturing(void *stream, int *status) {
    EXEC_CALL(is_capturing(stream, status));
}
SAME_AS(cudaStreamIsCapturing_ptsz, cudaStreamIsCapturing);

static exec_error info(void *stream, int *status, unsigned long long *number, exec_graph **graph,
                       exec_node *const **needs, size_t *n) {
    exec_stream *s;
    const exec_error error = is_capturing(stream, status);
    if (error != EXEC_SUCCESS || *status == 0 || exec_stream_of(stream, &s) != EXEC_SUCCESS)
        return error;
    const exec_capture *c = exec_capture_of(s);
    exec_node *const *found;
    const size_t count = exec_capture_needs(s, &found);
    if (number != NULL)
        *number = exec_capture_number(c);
    if (graph != NULL)
        *graph = exec_capture_graph(c);
    if (needs != NULL)
        *needs = found;
    if (n != NULL)
        *n = count;
    return EXEC_SUCCESS;
}

/* Edges have no data of their own here. */
static exec_error info_with_edges(void *stream, int *status, unsigned long long *number,
                                  exec_graph **graph, exec_node *const **needs, const void **edges,
                                  size_t *n) {
    if (edges != NULL)
        *edges = NULL;
    return info(stream, status, number, graph, needs, n);
}

#if EXEC_CUDART >= 13
EXPORT exec_error cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *number,
                                           exec_graph **graph, exec_node *const **needs,
                                           const void **edges, size_t *n) {
    EXEC_CALL(info_with_edges(stream, status, number, graph, needs, edges, n));
}
#else
EXPORT exec_error cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *number) {
    EXEC_CALL(info(stream, status, number, NULL, NULL, NULL));
}
EXPORT exec_error cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *number,
                                              exec_graph **graph, exec_node *const **needs,
                                              size_t *n) {
    EXEC_CALL(info(stream, status, number, graph, needs, n));
}
SAME_AS(cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v2);
EXPORT exec_error cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *number,
                                              exec_graph **graph, exec_node *const **needs,
                                              const void **edges, size_t *n) {
    EXEC_CALL(info_with_edges(stream, status, number, graph, needs, edges, n));
}
SAME_AS(cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetCaptureInfo_v3);
#endif
SAME_AS(cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo);

static exec_error update(void *stream, exec_node *const *needs, size_t n, unsigned flags) {
    exec_stream *s;
    const exec_error error = flags <= 1 ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    return exec_capture_of(s) != NULL ? exec_capture_set_needs(s, needs, n, flags == 1)
                                      : EXEC_ILLEGAL_STATE;
}

#if EXEC_CUDART >= 13
EXPORT exec_error cudaStreamUpdateCaptureDependencies(void *stream, exec_node *const *needs,
                                                      const void *edges, size_t n, unsigned flags) {
    (void)edges;
    EXEC_CALL(update(stream, needs, n, flags));
}
SAME_AS(cudaStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies);
#else
EXPORT exec_error cudaStreamUpdateCaptureDependencies(void *stream, exec_node *const *needs,
                                                      size_t n, unsigned flags) {
    EXEC_CALL(update(stream, needs, n, flags));
}
EXPORT exec_error cudaStreamUpdateCaptureDependencies_v2(void *stream, exec_node *const *needs,
                                                         const void *edges, size_t n,
                                                         unsigned flags) {
    (void)edges;
    EXEC_CALL(update(stream, needs, n, flags));
}
#endif
SAME_AS(cudaStreamUpdateCaptureDependencies_ptsz, cudaStreamUpdateCaptureDependencies);
SAME_AS(cudaStreamUpdateCaptureDependencies_v2_ptsz, cudaStreamUpdateCaptureDependencies_v2);

EXPORT exec_error cudaThreadExchangeStreamCaptureMode(int *mode) {
    EXEC_CALL(exec_capture_exchange(mode));
}
