/* Work that CUDA orders is done in order, and work whose order it leaves open is put off. */
#include "sim/exec/stream.h"

#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>

/* Each piece of work writes its letter. */
static char done[64];

static void write_letter(void *data) {
    const char letter[] = {*(const char *)data, '\0'};
    strcat(done, letter);
    free(data);
}

static void submit(exec_stream *stream, char letter) {
    char *data = malloc(1);
    REQUIRE(data != NULL);
    *data = letter;
    REQUIRE_OK(exec_stream_submit(stream, write_letter, data));
}

static void begin(exec_promptness promptness) {
    exec_streams_synchronize();
    exec_streams_set(promptness);
    done[0] = '\0';
}

static exec_stream *make(bool blocking) {
    exec_stream *stream;
    REQUIRE_OK(exec_stream_create(blocking, &stream));
    return stream;
}

ASSAY_TEST(exec_stream, eager_work_is_done_within_the_call, "unit") {
    begin(EXEC_EAGER);
    exec_stream *a = make(true);
    submit(a, 'a');
    CHECK_STREQ(done, "a");
    CHECK(exec_stream_query(a));
    exec_stream_destroy(a);
}

ASSAY_TEST(exec_stream, late_work_waits_for_a_synchronisation_of_its_own_stream, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(true), *b = make(true);
    submit(a, 'a');
    submit(b, 'b');
    submit(a, 'A');
    CHECK_STREQ(done, "");
    exec_stream_synchronize(b);
    CHECK_STREQ(done, "b");
    exec_streams_synchronize();
    CHECK_STREQ(done, "baA");
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

ASSAY_TEST(exec_stream, the_default_stream_is_ordered_against_blocking_ones_only, "unit") {
    begin(EXEC_LATE);
    exec_stream *blocking = make(true), *other = make(false);
    submit(other, 'o');
    submit(blocking, 'a');
    submit(exec_stream_default(), 'd');
    submit(blocking, 'b');
    exec_stream_synchronize(exec_stream_default());
    CHECK_STREQ(done, "ad");
    submit(exec_stream_default(), 'e');
    submit(blocking, 'c');
    exec_stream_synchronize(blocking);
    CHECK_STREQ(done, "adbec");
    exec_stream_synchronize(other);
    CHECK_STREQ(done, "adbeco");
    exec_stream_destroy(blocking);
    exec_stream_destroy(other);
}

ASSAY_TEST(exec_stream, an_event_orders_two_streams, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(false), *b = make(false);
    exec_event *event;
    REQUIRE_OK(exec_event_create(&event));
    REQUIRE_OK(exec_stream_wait(b, event)); /* never recorded: no hindrance */
    submit(a, '1');
    REQUIRE_OK(exec_event_record(event, a));
    submit(a, '2');
    REQUIRE_OK(exec_stream_wait(b, event));
    submit(b, 'b');
    exec_event_destroy(event); /* its record is still to come */
    exec_stream_synchronize(b);
    CHECK_STREQ(done, "1b");
    exec_stream_synchronize(a);
    CHECK_STREQ(done, "1b2");
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

ASSAY_TEST(exec_stream, a_wait_is_for_the_record_before_it, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(false), *b = make(false);
    exec_event *event;
    REQUIRE_OK(exec_event_create(&event));
    submit(a, '1');
    REQUIRE_OK(exec_event_record(event, a));
    REQUIRE_OK(exec_stream_wait(b, event));
    submit(b, 'b');
    submit(a, '2');
    REQUIRE_OK(exec_event_record(event, a));
    exec_stream_synchronize(b);
    CHECK_STREQ(done, "1b");
    exec_event_synchronize(event);
    CHECK_STREQ(done, "1b2");
    exec_event_destroy(event);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

ASSAY_TEST(exec_stream, asking_comes_to_an_end, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(true);
    exec_event *event;
    REQUIRE_OK(exec_event_create(&event));
    CHECK(exec_event_query(event));
    submit(a, '1');
    submit(a, '2');
    CHECK(!exec_stream_query(a));
    CHECK_STREQ(done, "1");
    REQUIRE_OK(exec_event_record(event, a));
    CHECK(!exec_event_query(event));
    CHECK(!exec_event_query(event));
    CHECK(exec_event_query(event) && exec_stream_query(a));
    exec_event_destroy(event);
    exec_stream_destroy(a);
}

ASSAY_TEST(exec_stream, a_destroyed_streams_work_is_done, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(true);
    submit(a, 'a');
    exec_stream_destroy(a);
    CHECK_STREQ(done, "");
    submit(exec_stream_default(), 'd');
    exec_stream_synchronize(exec_stream_default());
    CHECK_STREQ(done, "ad");
}

ASSAY_TEST(exec_stream, events_have_times_once_their_work_is_done, "unit") {
    begin(EXEC_LATE);
    exec_event *from, *to;
    double ms = -1;
    REQUIRE_OK(exec_event_create(&from));
    REQUIRE_OK(exec_event_create(&to));
    REQUIRE_OK(exec_event_record(from, exec_stream_default()));
    CHECK(exec_event_elapsed(from, to, &ms) == EXEC_NOT_RECORDED);
    REQUIRE_OK(exec_event_record(to, exec_stream_default()));
    CHECK(exec_event_elapsed(from, to, &ms) == EXEC_NOT_READY_YET);
    exec_event_synchronize(to);
    CHECK(exec_event_elapsed(from, to, &ms) == EXEC_ELAPSED && ms >= 0);
    exec_event_destroy(from);
    exec_event_destroy(to);
}
