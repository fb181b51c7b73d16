#include "bench/profile/trace.h"

#include <inttypes.h>
#include <math.h>

/* Names come from compilers and from libraries: bytes that are no ASCII are not theirs. */
static void put_string(FILE *to, const char *text) {
    putc('"', to);
    for (; *text != '\0'; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            fprintf(to, "\\u%04x", c);
        else
            putc(c, to);
    }
    putc('"', to);
}

/* JSON knows no NaN. */
static void put_number(FILE *to, double value) {
    if (isfinite(value))
        fprintf(to, "%.15g", value);
    else
        fputs("null", to);
}

void trace_begin(profile_trace *trace, FILE *to, const char *title, const char *times) {
    *trace = (profile_trace){.to = to};
    fputs("{\"displayTimeUnit\": \"ns\",\n \"otherData\": {\"title\": ", to);
    put_string(to, title);
    fputs(", \"times\": ", to);
    put_string(to, times);
    fputs("},\n \"traceEvents\": [", to);
}

void trace_end(profile_trace *trace) {
    fputs("\n ]\n}\n", trace->to);
}

/* What every event begins with; it is left open. */
static void open_event(profile_trace *trace, const char *phase, profile_row row, const char *name) {
    fprintf(trace->to,
            "%s\n  {\"ph\": \"%s\", \"pid\": %" PRId32 ", \"tid\": %" PRId32 ", \"name\": ",
            trace->any ? "," : "", phase, row.process, row.thread);
    put_string(trace->to, name);
    trace->any = true;
}

static void name_one(profile_trace *trace, profile_row row, const char *what, const char *name) {
    open_event(trace, "M", row, what);
    fputs(", \"args\": {\"name\": ", trace->to);
    put_string(trace->to, name);
    fputs("}}", trace->to);
}

void trace_name(profile_trace *trace, profile_row row, const char *process, const char *thread) {
    name_one(trace, row, "process_name", process);
    name_one(trace, row, "thread_name", thread);
}

static void put_time(profile_trace *trace, const char *key, double time) {
    fprintf(trace->to, ", \"%s\": ", key);
    put_number(trace->to, time);
}

void trace_event(profile_trace *trace, profile_row row, const char *name, double start,
                 double duration, const profile_note *notes, int32_t n_notes) {
    open_event(trace, "X", row, name);
    put_time(trace, "ts", start);
    put_time(trace, "dur", duration);
    fputs(", \"args\": {", trace->to);
    for (int32_t i = 0; i < n_notes; ++i) {
        fputs(i > 0 ? ", " : "", trace->to);
        put_string(trace->to, notes[i].name);
        fputs(": ", trace->to);
        if (notes[i].text)
            put_string(trace->to, notes[i].text);
        else
            put_number(trace->to, notes[i].number);
    }
    fputs("}}", trace->to);
}

void trace_arrow(profile_trace *trace, uint64_t id, profile_row from, double start, profile_row to,
                 double end) {
    open_event(trace, "s", from, "launch");
    fprintf(trace->to, ", \"cat\": \"launch\", \"id\": %" PRIu64, id);
    put_time(trace, "ts", start);
    fputs("}", trace->to);
    open_event(trace, "f", to, "launch");
    fprintf(trace->to, ", \"cat\": \"launch\", \"bp\": \"e\", \"id\": %" PRIu64, id);
    put_time(trace, "ts", end);
    fputs("}", trace->to);
}
