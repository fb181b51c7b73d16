/* Streams whose work becomes a graph in place of being done. */
#ifndef ASSAY_SIM_EXEC_CAPTURE_H
#define ASSAY_SIM_EXEC_CAPTURE_H

#include "sim/exec/error.h"
#include "sim/exec/work.h"

#include <stddef.h>
#include <stdint.h>

typedef struct exec_graph exec_graph;
typedef struct exec_node exec_node;
typedef struct exec_capture exec_capture;

/* Which calls a capture forbids that are not safe beside one (capture_unsafe.c): those of all
 * threads, of the thread that began it, or none. As CUDA numbers them. */
typedef enum exec_capture_mode {
    EXEC_CAPTURE_GLOBAL,
    EXEC_CAPTURE_THREAD,
    EXEC_CAPTURE_RELAXED
} exec_capture_mode;

/* NULL: the stream is not captured. */
const exec_capture *exec_capture_of(const exec_stream *stream);
uint64_t exec_capture_number(const exec_capture *capture);
exec_graph *exec_capture_graph(const exec_capture *capture);

/* Invalid: a call was made that it forbids, and everything but its end fails, with
 * EXEC_CAPTURE_INVALIDATED. As CUDA numbers them. */
typedef enum exec_capture_state {
    EXEC_NOT_CAPTURED,
    EXEC_CAPTURED,
    EXEC_INVALID_CAPTURE
} exec_capture_state;
exec_capture_state exec_capture_status(const exec_stream *stream);

/* The nodes that the stream's next work would wait for. */
size_t exec_capture_needs(const exec_stream *stream, exec_node *const **needs);
exec_error exec_capture_set_needs(exec_stream *stream, exec_node *const *needs, size_t n,
                                  int replace);

/* `graph`: to add to; NULL: a new one. EXEC_ILLEGAL_STATE: it is captured already;
 * EXEC_CAPTURE_UNSUPPORTED: the default stream. */
exec_error exec_capture_begin(exec_stream *stream, exec_graph *graph, exec_capture_mode mode);

/* EXEC_ILLEGAL_STATE: the stream is not captured; EXEC_CAPTURE_UNMATCHED: it did not begin here.
 * Else the capture is over, without a graph if EXEC_CAPTURE_UNJOINED: a stream that joined has work
 * for which this one does not wait; EXEC_CAPTURE_INVALIDATED; EXEC_CAPTURE_WRONG_THREAD. */
exec_error exec_capture_end(exec_stream *stream, exec_graph **graph);

/* Takes the work. */
exec_error exec_capture_add(exec_stream *stream, exec_work *work);
exec_error exec_capture_add_graph(exec_stream *stream, exec_graph *graph);

/* An event is recorded in a captured stream; a stream waits for such an event, and so joins the
 * capture, or a captured stream waits for one that was `recorded` elsewhere. *done: this was such a
 * case; otherwise nothing happened. */
exec_error exec_capture_record(exec_event *event, exec_stream *stream, bool *done);
exec_error exec_capture_wait(exec_stream *stream, const exec_event *event, bool recorded,
                             bool *done);
void exec_capture_forget(const exec_event *event);
void exec_capture_forget_stream(const exec_stream *stream);

bool exec_capture_any(void);

/* ---- calls that captures forbid: each makes them invalid and returns the error ---- */

/* The calling thread's own mode, which lets it do more than the captures say; *mode becomes the old
 * one. EXEC_INVALID_VALUE */
exec_error exec_capture_exchange(int *mode);

exec_error exec_capture_unsafe(void);
exec_error exec_capture_call(const char *name);                /* if it is not safe */
exec_error exec_capture_device(void);                          /* waits for the device */
exec_error exec_capture_legacy(const exec_stream *stream);     /* work of the default stream */
exec_error exec_capture_refuse(const exec_stream *stream);     /* what no graph can hold */
exec_error exec_capture_ask_stream(const exec_stream *stream); /* waits for it, or asks it */
exec_error exec_capture_ask_event(const exec_event *event);
/* Spoils nothing. */
exec_error exec_capture_time_event(const exec_event *event);

#endif
