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

/* NULL: the stream is not captured. */
const exec_capture *exec_capture_of(const exec_stream *stream);
uint64_t exec_capture_number(const exec_capture *capture);
exec_graph *exec_capture_graph(const exec_capture *capture);

/* The nodes that the stream's next work would wait for. */
size_t exec_capture_needs(const exec_stream *stream, exec_node *const **needs);
exec_error exec_capture_set_needs(exec_stream *stream, exec_node *const *needs, size_t n,
                                  int replace);

/* `graph`: to add to; NULL: a new one. EXEC_ILLEGAL_STATE: it is captured already;
 * EXEC_CAPTURE_UNSUPPORTED: the default stream. */
exec_error exec_capture_begin(exec_stream *stream, exec_graph *graph);

/* EXEC_CAPTURE_UNMATCHED: it did not begin here; EXEC_CAPTURE_UNJOINED: a stream that joined has
 * work for which this one does not wait. */
exec_error exec_capture_end(exec_stream *stream, exec_graph **graph);

/* Takes the work. */
exec_error exec_capture_add(exec_stream *stream, exec_work *work);
exec_error exec_capture_add_graph(exec_stream *stream, exec_graph *graph);

/* An event is recorded in a captured stream; a stream waits for such an event, and so joins the
 * capture. *done: this was such a case; otherwise nothing happened. */
exec_error exec_capture_record(exec_event *event, exec_stream *stream, bool *done);
exec_error exec_capture_wait(exec_stream *stream, const exec_event *event, bool *done);
void exec_capture_forget(const exec_event *event);

/* Whether any capture is under way: work of the default stream is not allowed then. */
bool exec_capture_any(void);

#endif
