/* Streams and events as programs hold them: by handles that are checked. */
#ifndef ASSAY_SIM_EXEC_SYNC_H
#define ASSAY_SIM_EXEC_SYNC_H

#include "sim/exec/error.h"
#include "sim/exec/stream.h"

/* `flags`: 1 is one that does not block with the default stream. */
exec_error exec_make_stream(void **handle, unsigned flags, int priority);
exec_error exec_drop_stream(void *handle);
exec_error exec_sync_stream(void *handle);
exec_error exec_ask_stream(void *handle); /* EXEC_NOT_READY */
exec_error exec_sync_device(void);

/* The lowest priority is 0, the highest -5. */
enum { EXEC_HIGHEST_PRIORITY = -5 };

exec_error exec_make_event(void **handle, unsigned flags);
exec_error exec_drop_event(void *handle);
exec_error exec_record_event(void *handle, void *stream);

/* As a node of the graph that the stream is captured into: the graph's launch records the event, or
 * waits for it. A stream that is not captured can only wait so; EXEC_INVALID_VALUE. */
exec_error exec_record_external(void *handle, void *stream);
exec_error exec_wait_external(void *stream, void *handle);

exec_error exec_sync_event(void *handle);
exec_error exec_ask_event(void *handle);
exec_error exec_stream_wait_event(void *stream, void *handle);

/* Milliseconds of the host's clock, at least half a microsecond, as CUDA's resolution is: the time
 * of the simulation, which says nothing of a GPU. */
exec_error exec_time_events(float *ms, void *from, void *to);

#endif
