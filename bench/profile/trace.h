/*
 * A Chrome trace: JSON in the trace event format, for chrome://tracing and Perfetto. Times are in
 * microseconds. After a write that failed nothing more is written; the stream remembers.
 */
#ifndef ASSAY_BENCH_PROFILE_TRACE_H
#define ASSAY_BENCH_PROFILE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct profile_trace {
    FILE *to;
    bool any; /* an event has been written */
} profile_trace;

/* A row of the picture: threads of a process. */
typedef struct profile_row {
    int32_t process, thread;
} profile_row;

/* Something to show beside an event. */
typedef struct profile_note {
    const char *name;
    const char *text; /* NULL: the number */
    double number;
} profile_note;

/* `title`: the profiled variant and case; `times`: the meaning of the times. */
void trace_begin(profile_trace *trace, FILE *to, const char *title, const char *times);
void trace_end(profile_trace *trace);

/* Names a row, and the process that it belongs to. */
void trace_name(profile_trace *trace, profile_row row, const char *process, const char *thread);

void trace_event(profile_trace *trace, profile_row row, const char *name, double start,
                 double duration, const profile_note *notes, int32_t n_notes);

/* An arrow from within one event to the beginning of another; `id`: one for each arrow. */
void trace_arrow(profile_trace *trace, uint64_t id, profile_row from, double start, profile_row to,
                 double end);

#endif
