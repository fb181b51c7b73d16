#include "sim/exec/stream.h"

#include "sim/exec/attributes.h"
#include "sim/exec/guard.h"
#include "sim/exec/overlap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Numbers count all work in the order in which it was submitted. A piece waits only for work with
 * smaller numbers, so waiting comes to an end. A number that no queue holds is done. */
typedef struct work {
    struct work *next;
    uint64_t number;
    void (*run)(void *data);
    void *data;
    exec_clock clock; /* the work before it, and itself */
    int32_t n_needs;
    uint64_t needs[];
} work;

struct exec_stream {
    exec_stream *next; /* of all streams */
    work *head, *tail;
    bool blocking;
    bool destroyed; /* it goes with its last piece of work */
    int priority;
    exec_attributes attributes;
    int number;       /* 0: the default stream */
    exec_clock clock; /* what is done before the work that it gets next */
};

struct exec_event {
    uint64_t record; /* the last one's number; 0: never recorded */
    double ms;       /* when it was done */
    int32_t pending; /* records that are submitted and not done */
    bool destroyed, untimed, shared;
    exec_clock clock; /* what is done before the last record */
};

static exec_stream first = {.blocking = true}; /* the default stream; the others follow it */
static exec_promptness promptness;
static uint64_t last_number;
static int last_stream;

/* The work that the program's own code knows to be done, and the work of streams that are gone: of
 * all of them, and of those that blocked. */
static exec_clock host, gone, gone_blocking;
/* What is done before the last records of events that are shared: other processes may wait for them
 * and have their own waited for. */
static exec_clock given;
static const exec_clock *running; /* of the work that runs; NULL: none does */

static int slot_of(const exec_stream *stream) {
    return stream->number < EXEC_CLOCK_SLOTS ? stream->number : EXEC_CLOCK_SLOTS - 1;
}

void exec_streams_set(exec_promptness p) {
    promptness = p;
}

exec_stream *exec_stream_default(void) {
    return &first;
}

bool exec_streams_several(void) {
    return last_stream > 0;
}

bool exec_stream_is_blocking(const exec_stream *stream) {
    return stream->blocking;
}

int exec_stream_priority(const exec_stream *stream) {
    return stream->priority;
}

void exec_stream_set_priority(exec_stream *stream, int priority) {
    stream->priority = priority;
}

exec_attributes *exec_stream_attributes(exec_stream *stream) {
    return &stream->attributes;
}

static void retire(exec_stream *stream) {
    if (!stream->destroyed || stream->head != NULL)
        return;
    exec_stream **link = &first.next;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    exec_clock_join(&gone, &stream->clock);
    if (stream->blocking)
        exec_clock_join(&gone_blocking, &stream->clock);
    exec_attributes_free(&stream->attributes);
    free(stream);
}

/* The host knows it done; moments before all work that is still to come need not be kept. */
static void host_knows(const exec_clock *clock) {
    exec_clock_join(&host, clock);
    exec_clock floor = host;
    for (const exec_stream *s = &first; s != NULL; s = s->next)
        for (const work *w = s->head; w != NULL; w = w->next)
            exec_clock_meet(&floor, &w->clock);
    exec_overlap_host(&host);
    exec_overlap_forget(&floor);
}

static exec_stream *holder(uint64_t number) {
    for (exec_stream *s = &first; s != NULL; s = s->next)
        if (s->head != NULL && s->head->number <= number && number <= s->tail->number)
            for (const work *w = s->head; w != NULL && w->number <= number; w = w->next)
                if (w->number == number)
                    return s;
    return NULL;
}

static void finish(uint64_t number);

void exec_streams_host_learns(void) {
    if (running != NULL)
        host_knows(running);
}

/* Does the stream's next piece, and before that what it waits for. */
static void do_next(exec_stream *stream) {
    work *w = stream->head;
    for (int32_t i = 0; i < w->n_needs; ++i)
        finish(w->needs[i]);
    stream->head = w->next;
    if (stream->head == NULL)
        stream->tail = NULL;
    const exec_turn turn = {&w->clock, slot_of(stream), w->number, stream->number};
    const exec_clock *outer = running;
    running = &w->clock;
    exec_guard_open();
    exec_overlap_begin(&turn);
    w->run(w->data);
    exec_overlap_end();
    running = outer;
    free(w);
}

static void finish(uint64_t number) {
    exec_stream *stream = holder(number);
    if (stream == NULL)
        return;
    while (stream->head != NULL && stream->head->number <= number)
        do_next(stream);
    retire(stream);
}

/* Whether CUDA orders the work of one before that of the other. */
static bool is_ordered(const exec_stream *s, const exec_stream *stream) {
    return s->blocking && stream->blocking && (s == &first) != (stream == &first);
}

/* What CUDA orders before work that `stream` gets now, beyond its own. */
static int32_t implied(const exec_stream *stream, uint64_t *needs) {
    int32_t n = 0;
    for (const exec_stream *s = &first; s != NULL; s = s->next) {
        if (!is_ordered(s, stream) || s->tail == NULL)
            continue;
        if (needs != NULL)
            needs[n] = s->tail->number;
        ++n;
    }
    return n;
}

/* The stream's clock when it is given the piece of this number. */
static void advance(exec_stream *stream, uint64_t number) {
    exec_clock_join(&stream->clock, &host);
    if (stream == &first)
        exec_clock_join(&stream->clock, &gone_blocking);
    for (const exec_stream *s = &first; s != NULL; s = s->next)
        if (is_ordered(s, stream))
            exec_clock_join(&stream->clock, &s->clock);
    stream->clock.done[slot_of(stream)] = number;
}

/* `event`: the number of a record to wait for; 0: none. */
static assay_status submit(exec_stream *stream, void (*run)(void *), void *data, uint64_t event,
                           uint64_t *number) {
    const size_t most = (size_t)implied(stream, NULL) + 1;
    work *w = malloc(sizeof *w + most * sizeof w->needs[0]);
    if (w == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the work of a stream");
    *w = (work){.number = ++last_number, .run = run, .data = data};
    w->n_needs = implied(stream, w->needs);
    if (event != 0)
        w->needs[w->n_needs++] = event;
    advance(stream, w->number);
    w->clock = stream->clock;
    if (stream->tail != NULL)
        stream->tail->next = w;
    else
        stream->head = w;
    stream->tail = w;
    *number = w->number;
    return ASSAY_OK;
}

static void do_if_eager(uint64_t number) {
    if (promptness == EXEC_EAGER)
        finish(number);
}

assay_status exec_stream_submit(exec_stream *stream, void (*run)(void *), void *data) {
    uint64_t number;
    const assay_status status = submit(stream, run, data, 0, &number);
    if (status == ASSAY_OK)
        do_if_eager(number);
    return status;
}

assay_status exec_stream_create(bool blocking, exec_stream **stream) {
    exec_stream *s = malloc(sizeof *s);
    *stream = s;
    if (s == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a stream");
    *s = (exec_stream){.next = first.next, .blocking = blocking, .number = ++last_stream};
    first.next = s;
    return ASSAY_OK;
}

void exec_stream_destroy(exec_stream *stream) {
    stream->destroyed = true;
    retire(stream);
}

void exec_stream_synchronize(exec_stream *stream) {
    while (stream->head != NULL)
        do_next(stream);
    host_knows(&stream->clock);
}

static bool any_work(uint64_t *number) {
    for (const exec_stream *s = &first; s != NULL; s = s->next)
        if (s->tail != NULL) {
            *number = s->tail->number;
            return true;
        }
    return false;
}

void exec_streams_synchronize(void) {
    uint64_t number;
    while (any_work(&number))
        finish(number);
    exec_clock all = gone;
    for (const exec_stream *s = &first; s != NULL; s = s->next)
        exec_clock_join(&all, &s->clock);
    host_knows(&all);
}

bool exec_stream_query(exec_stream *stream) {
    if (stream->head == NULL) {
        host_knows(&stream->clock);
        return true;
    }
    do_next(stream);
    return false;
}

assay_status exec_event_create(exec_event **event) {
    *event = calloc(1, sizeof **event);
    return *event != NULL ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "no memory for an event");
}

bool exec_event_is_timed(const exec_event *event) {
    return !event->untimed;
}

void exec_event_set_timed(exec_event *event, bool timed) {
    event->untimed = !timed;
}

bool exec_event_is_recorded(const exec_event *event) {
    return event->record != 0;
}

bool exec_event_is_shared(const exec_event *event) {
    return event->shared;
}

void exec_event_share(exec_event *event) {
    event->shared = true;
}

void exec_event_destroy(exec_event *event) {
    event->destroyed = true;
    if (event->pending == 0)
        free(event);
}

static void record(void *data) {
    exec_event *event = data;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->ms = 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
    if (--event->pending == 0 && event->destroyed)
        free(event);
}

assay_status exec_event_record(exec_event *event, exec_stream *stream) {
    uint64_t number;
    const assay_status status = submit(stream, record, event, 0, &number);
    if (status != ASSAY_OK)
        return status;
    ++event->pending;
    event->record = number;
    event->clock = stream->clock;
    if (event->shared) {
        exec_clock_join(&given, &stream->clock);
        finish(number);
    }
    do_if_eager(number);
    return ASSAY_OK;
}

static void nothing(void *data) {
    (void)data;
}

assay_status exec_stream_wait(exec_stream *stream, const exec_event *event) {
    uint64_t number;
    exec_clock_join(&stream->clock, event->shared ? &given : &event->clock);
    if (event->record == 0 || holder(event->record) == NULL)
        return ASSAY_OK;
    return submit(stream, nothing, NULL, event->record, &number);
}

void exec_event_synchronize(exec_event *event) {
    finish(event->record);
    host_knows(&event->clock);
}

bool exec_event_query(exec_event *event) {
    exec_stream *stream = holder(event->record);
    if (stream == NULL) {
        host_knows(&event->clock);
        return true;
    }
    do_next(stream);
    retire(stream);
    return false;
}

exec_elapsed exec_event_elapsed(const exec_event *from, const exec_event *to, double *ms) {
    if (from->record == 0 || to->record == 0)
        return EXEC_NOT_RECORDED;
    if (holder(from->record) != NULL || holder(to->record) != NULL)
        return EXEC_NOT_READY_YET;
    *ms = to->ms - from->ms;
    return EXEC_ELAPSED;
}
