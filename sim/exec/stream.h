/*
 * Streams and events. Work is done on the host thread that asks for it, one piece after the other;
 * CUDA leaves the time open. EXEC_EAGER does it within the call that submits it; programs with a
 * missing synchronisation are used to that. EXEC_LATE puts it off until CUDA promises that it is
 * done, so that such a program reads results that are not there yet.
 *
 * CUDA promises: work of one stream is done in order; work of the default stream waits for all
 * earlier work of blocking streams, and their later work waits for it; a stream that waits for an
 * event does so for the last record before that call.
 *
 * Not for more than one host thread at a time.
 */
#ifndef ASSAY_SIM_EXEC_STREAM_H
#define ASSAY_SIM_EXEC_STREAM_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum exec_promptness { EXEC_EAGER, EXEC_LATE } exec_promptness;

/* For the work to come. */
void exec_streams_set(exec_promptness promptness);

typedef struct exec_stream exec_stream;

/* The default stream, which is always there. */
exec_stream *exec_stream_default(void);

/* `blocking`: ordered against the default stream, as without cudaStreamNonBlocking. */
assay_status exec_stream_create(bool blocking, exec_stream **stream) ASSAY_MUST_CHECK;

/* Whether the program has made any. */
bool exec_streams_several(void);

/* The program's own code, called as work of a stream, may tell the rest of the program that the
 * work before it is done. */
void exec_streams_host_learns(void);

bool exec_stream_is_blocking(const exec_stream *stream);

/* The priority that the program gave it; it changes nothing. */
int exec_stream_priority(const exec_stream *stream);
void exec_stream_set_priority(exec_stream *stream, int priority);

/* As the program set them. */
struct exec_attributes;
struct exec_attributes *exec_stream_attributes(exec_stream *stream);

/* Work that it has is still done in its time, as CUDA says. Not for the default stream. */
void exec_stream_destroy(exec_stream *stream);

/* `run(data)` is called once, and frees `data`. ASSAY_ERR_MEMORY: it was not called. */
assay_status exec_stream_submit(exec_stream *stream, void (*run)(void *data),
                                void *data) ASSAY_MUST_CHECK;

void exec_stream_synchronize(exec_stream *stream);
void exec_streams_synchronize(void);

/* Whether all is done. Asking does one piece of work, so that a loop that asks comes to its end. */
bool exec_stream_query(exec_stream *stream);

typedef struct exec_event exec_event;

assay_status exec_event_create(exec_event **event) ASSAY_MUST_CHECK;

/* Whether the program wants to time it; the clock runs for all. Timed until it is set. */
bool exec_event_is_timed(const exec_event *event);
void exec_event_set_timed(exec_event *event, bool timed);

/* Whether other processes wait for it: its records are done at once, with late streams too. */
bool exec_event_is_shared(const exec_event *event);
void exec_event_share(exec_event *event);

bool exec_event_is_recorded(const exec_event *event);

void exec_event_destroy(exec_event *event);
assay_status exec_event_record(exec_event *event, exec_stream *stream) ASSAY_MUST_CHECK;

/* The stream's later work waits for the event's last record; an event without one is no hindrance.
 */
assay_status exec_stream_wait(exec_stream *stream, const exec_event *event) ASSAY_MUST_CHECK;
void exec_event_synchronize(exec_event *event);
bool exec_event_query(exec_event *event);

typedef enum exec_elapsed { EXEC_ELAPSED, EXEC_NOT_RECORDED, EXEC_NOT_READY_YET } exec_elapsed;

/* Milliseconds of the host's clock between the last records of two events. */
exec_elapsed exec_event_elapsed(const exec_event *from, const exec_event *to, double *ms);

#ifdef __cplusplus
}
#endif

#endif
