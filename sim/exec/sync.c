#include "sim/exec/sync.h"

#include "sim/exec/call.h"
#include "sim/exec/capture.h"
#include "sim/exec/graph.h"
#include "sim/exec/handles.h"
#include "sim/exec/work.h"

#include <stdlib.h>

enum { NON_BLOCKING = 1, DISABLE_TIMING = 2, INTERPROCESS = 4 };

exec_error exec_make_stream(void **handle, unsigned flags, int priority) {
    exec_stream *s;
    if (handle == NULL || flags > NON_BLOCKING)
        return EXEC_INVALID_VALUE;
    *handle = NULL;
    if (exec_stream_create(flags != NON_BLOCKING, &s) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    if (exec_handle_add(s, EXEC_HANDLE_STREAM) != ASSAY_OK) {
        exec_stream_destroy(s);
        return EXEC_OUT_OF_MEMORY;
    }
    const int most = priority > 0 ? 0 : priority;
    exec_stream_set_priority(s, most < EXEC_HIGHEST_PRIORITY ? EXEC_HIGHEST_PRIORITY : most);
    *handle = s;
    return EXEC_SUCCESS;
}

exec_error exec_drop_stream(void *handle) {
    if (!exec_handle_is(handle, EXEC_HANDLE_STREAM))
        return EXEC_INVALID_HANDLE;
    exec_handle_remove(handle);
    exec_capture_forget_stream(handle);
    exec_stream_destroy(handle);
    return EXEC_SUCCESS;
}

/* The error of the work that was done meanwhile. */
static exec_error after(void) {
    return exec_device_error();
}

exec_error exec_sync_stream(void *handle) {
    exec_stream *s;
    exec_error error = exec_stream_of(handle, &s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_ask_stream(s);
    if (error != EXEC_SUCCESS)
        return error;
    exec_stream_synchronize(s);
    return after();
}

exec_error exec_ask_stream(void *handle) {
    exec_stream *s;
    exec_error error = exec_stream_of(handle, &s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_ask_stream(s);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_stream_query(s) ? after() : EXEC_NOT_READY;
}

exec_error exec_sync_device(void) {
    const exec_error error = exec_capture_device();
    if (error != EXEC_SUCCESS)
        return error;
    exec_streams_synchronize();
    return after();
}

exec_error exec_make_event(void **handle, unsigned flags) {
    exec_event *e;
    if (handle == NULL || flags > 7 || (flags & (INTERPROCESS | DISABLE_TIMING)) == INTERPROCESS)
        return EXEC_INVALID_VALUE;
    *handle = NULL;
    if (exec_event_create(&e) != ASSAY_OK)
        return EXEC_OUT_OF_MEMORY;
    if (exec_handle_add(e, EXEC_HANDLE_EVENT) != ASSAY_OK) {
        exec_event_destroy(e);
        return EXEC_OUT_OF_MEMORY;
    }
    exec_event_set_timed(e, (flags & DISABLE_TIMING) == 0);
    if ((flags & INTERPROCESS) != 0)
        exec_event_share(e);
    *handle = e;
    return EXEC_SUCCESS;
}

exec_error exec_drop_event(void *handle) {
    if (!exec_handle_is(handle, EXEC_HANDLE_EVENT))
        return EXEC_INVALID_HANDLE;
    exec_handle_remove(handle);
    exec_capture_forget(handle);
    exec_event_destroy(handle);
    return EXEC_SUCCESS;
}

exec_error exec_record_event(void *handle, void *stream) {
    exec_stream *s;
    bool captured = false;
    exec_error error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS && !exec_handle_is(handle, EXEC_HANDLE_EVENT))
        error = EXEC_INVALID_HANDLE;
    if (error == EXEC_SUCCESS)
        error = exec_capture_legacy(s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_record(handle, s, &captured);
    if (error != EXEC_SUCCESS || captured)
        return error;
    return exec_error_of(exec_event_record(handle, s));
}

exec_error exec_sync_event(void *handle) {
    if (!exec_handle_is(handle, EXEC_HANDLE_EVENT))
        return EXEC_INVALID_HANDLE;
    const exec_error error = exec_capture_ask_event(handle);
    if (error != EXEC_SUCCESS)
        return error;
    exec_event_synchronize(handle);
    return after();
}

exec_error exec_ask_event(void *handle) {
    if (!exec_handle_is(handle, EXEC_HANDLE_EVENT))
        return EXEC_INVALID_HANDLE;
    const exec_error error = exec_capture_ask_event(handle);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_event_query(handle) ? after() : EXEC_NOT_READY;
}

exec_error exec_stream_wait_event(void *stream, void *handle) {
    exec_stream *s;
    bool captured = false;
    exec_error error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS && !exec_handle_is(handle, EXEC_HANDLE_EVENT))
        error = EXEC_INVALID_HANDLE;
    if (error == EXEC_SUCCESS)
        error = exec_capture_wait(s, handle, exec_event_is_recorded(handle), &captured);
    if (error == EXEC_SUCCESS && !captured)
        error = exec_capture_legacy(s);
    if (error != EXEC_SUCCESS || captured)
        return error;
    return exec_error_of(exec_stream_wait(s, handle));
}

/* Takes the work. */
static exec_error capture(exec_stream *s, exec_work *work) {
    if (exec_capture_of(s) != NULL)
        return exec_capture_add(s, work);
    free(work);
    return EXEC_INVALID_VALUE;
}

exec_error exec_record_external(void *handle, void *stream) {
    exec_stream *s;
    exec_work *work;
    exec_error error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS)
        error = exec_record_work(handle, &work);
    return error == EXEC_SUCCESS ? capture(s, work) : error;
}

exec_error exec_wait_external(void *stream, void *handle) {
    exec_stream *s;
    exec_work *work;
    exec_error error = exec_stream_of(stream, &s);
    if (error == EXEC_SUCCESS && exec_capture_of(s) == NULL)
        return exec_stream_wait_event(stream, handle);
    if (error == EXEC_SUCCESS)
        error = exec_wait_work(handle, &work);
    return error == EXEC_SUCCESS ? capture(s, work) : error;
}

exec_error exec_time_events(float *ms, void *from, void *to) {
    double elapsed = 0;
    if (ms == NULL)
        return EXEC_INVALID_VALUE;
    if (!exec_handle_is(from, EXEC_HANDLE_EVENT) || !exec_handle_is(to, EXEC_HANDLE_EVENT) ||
        !exec_event_is_timed(from) || !exec_event_is_timed(to))
        return EXEC_INVALID_HANDLE;
    exec_error error = exec_capture_time_event(from);
    if (error == EXEC_SUCCESS)
        error = exec_capture_time_event(to);
    if (error != EXEC_SUCCESS)
        return error;
    switch (exec_event_elapsed(from, to, &elapsed)) {
    case EXEC_NOT_RECORDED:
        return EXEC_INVALID_HANDLE;
    case EXEC_NOT_READY_YET:
        return EXEC_NOT_READY;
    case EXEC_ELAPSED:
        break;
    }
    *ms = elapsed > 0.0005 || elapsed < 0 ? (float)elapsed : 0.0005f;
    return EXEC_SUCCESS;
}
