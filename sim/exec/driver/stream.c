#include "sim/exec/driver/driver.h"
#include "sim/exec/graph.h"
#include "sim/exec/sync.h"

EXPORT exec_error cuStreamCreate(void **stream, unsigned flags) {
    DRIVER_CALL(exec_make_stream(stream, flags, 0));
}
EXPORT exec_error cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    DRIVER_CALL(exec_make_stream(stream, flags, priority));
}
EXPORT exec_error cuStreamDestroy_v2(void *stream) {
    DRIVER_CALL(exec_drop_stream(stream));
}
SAME_AS(cuStreamDestroy, cuStreamDestroy_v2);
EXPORT exec_error cuStreamSynchronize(void *stream) {
    DRIVER_CALL(exec_sync_stream(stream));
}
SAME_AS(cuStreamSynchronize_ptsz, cuStreamSynchronize);
EXPORT exec_error cuStreamQuery(void *stream) {
    DRIVER_CALL(exec_ask_stream(stream));
}
SAME_AS(cuStreamQuery_ptsz, cuStreamQuery);
EXPORT exec_error cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)flags;
    DRIVER_CALL(exec_stream_wait_event(stream, event));
}
SAME_AS(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);

static exec_error call_back(void *stream, void (*function)(void *, int, void *), void *data) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_submit_callback(function, data, stream, s) : error;
}

EXPORT exec_error cuStreamAddCallback(void *stream, void (*function)(void *, int, void *),
                                      void *data, unsigned flags) {
    (void)flags;
    DRIVER_CALL(call_back(stream, function, data));
}
SAME_AS(cuStreamAddCallback_ptsz, cuStreamAddCallback);

EXPORT exec_error cuEventCreate(void **event, unsigned flags) {
    DRIVER_CALL(exec_make_event(event, flags));
}
EXPORT exec_error cuEventDestroy_v2(void *event) {
    DRIVER_CALL(exec_drop_event(event));
}
SAME_AS(cuEventDestroy, cuEventDestroy_v2);
EXPORT exec_error cuEventRecord(void *event, void *stream) {
    DRIVER_CALL(exec_record_event(event, stream));
}
SAME_AS(cuEventRecord_ptsz, cuEventRecord);
EXPORT exec_error cuEventSynchronize(void *event) {
    DRIVER_CALL(exec_sync_event(event));
}
EXPORT exec_error cuEventQuery(void *event) {
    DRIVER_CALL(exec_ask_event(event));
}
EXPORT exec_error cuEventElapsedTime_v2(float *ms, void *from, void *to) {
    DRIVER_CALL(exec_time_events(ms, from, to));
}
SAME_AS(cuEventElapsedTime, cuEventElapsedTime_v2);

/* ---- capture ---- */

static exec_error begin(void *stream, int mode) {
    exec_stream *s;
    const exec_error error =
        mode >= 0 && mode <= EXEC_CAPTURE_RELAXED ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? exec_capture_begin(s, NULL, (exec_capture_mode)mode) : error;
}

EXPORT exec_error cuStreamBeginCapture_v2(void *stream, int mode) {
    DRIVER_CALL(begin(stream, mode));
}
SAME_AS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

EXPORT exec_error cuStreamBeginCapture(void *stream) {
    DRIVER_CALL(begin(stream, EXEC_CAPTURE_GLOBAL));
}
SAME_AS(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

static exec_error end(void *stream, exec_graph **graph) {
    exec_stream *s;
    exec_graph *got;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_capture_end(s, graph != NULL ? graph : &got) : error;
}

EXPORT exec_error cuStreamEndCapture(void *stream, exec_graph **graph) {
    DRIVER_CALL(end(stream, graph));
}
SAME_AS(cuStreamEndCapture_ptsz, cuStreamEndCapture);

static exec_error is_capturing(void *stream, int *status) {
    exec_stream *s;
    const exec_error error = status != NULL ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *status = exec_capture_status(s);
    return error;
}

EXPORT exec_error cuStreamIsCapturing(void *stream, int *status) {
    DRIVER_CALL(is_capturing(stream, status));
}
SAME_AS(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);

EXPORT exec_error cuThreadExchangeStreamCaptureMode(int *mode) {
    DRIVER_CALL(exec_capture_exchange(mode));
}
