/* Which work of streams is ordered: pieces that all write one byte, and how many pairs are told. */
#include "sim/exec/overlap.h"

#include "sim/exec/report.h"
#include "sim/exec/stream.h"
#include "tests/shim/assay_test.h"

static char shared_byte;

/* `data`: a name of its own for each piece, since pairs of equal names are one problem. */
static void write_byte(void *data) {
    exec_overlap_by(data, "");
    exec_overlap_touch(&shared_byte, 1, true);
}

static void read_byte(void *data) {
    exec_overlap_by(data, "");
    exec_overlap_touch(&shared_byte, 1, false);
}

static void submit(exec_stream *stream, char *name) {
    REQUIRE_OK(exec_stream_submit(stream, write_byte, name));
}

static exec_stream *make(bool blocking) {
    exec_stream *stream;
    REQUIRE_OK(exec_stream_create(blocking, &stream));
    return stream;
}

/* Pairs that have been told since the last call. */
static uint32_t told(void) {
    static uint32_t before;
    const uint32_t n = exec_report_get()->n_problems, fresh = n - before;
    before = n;
    return fresh;
}

static void begin(exec_promptness promptness) {
    exec_streams_synchronize();
    exec_streams_set(promptness);
    (void)told();
}

ASSAY_TEST(exec_overlap, streams_without_an_event, "unit") {
    begin(EXEC_EAGER);
    exec_stream *a = make(false), *b = make(false);
    submit(a, "1");
    submit(a, "2"); /* a stream's own order */
    CHECK(told() == 0);
    submit(b, "3"); /* beside both */
    CHECK(told() == 2);
    REQUIRE_OK(exec_stream_submit(a, read_byte, "4"));
    CHECK(told() == 1); /* beside 3 */
    exec_streams_synchronize();
    REQUIRE_OK(exec_stream_submit(a, read_byte, "5"));
    REQUIRE_OK(exec_stream_submit(b, read_byte, "6"));
    CHECK(told() == 0); /* two that read */
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

ASSAY_TEST(exec_overlap, an_event_orders_what_is_before_its_record, "unit") {
    begin(EXEC_EAGER);
    exec_stream *a = make(false), *b = make(false), *c = make(false);
    exec_event *event, *second;
    REQUIRE_OK(exec_event_create(&event));
    REQUIRE_OK(exec_event_create(&second));
    submit(a, "11");
    REQUIRE_OK(exec_event_record(event, a));
    REQUIRE_OK(exec_stream_wait(b, event));
    submit(b, "12");
    CHECK(told() == 0);
    REQUIRE_OK(exec_event_record(second, b));
    REQUIRE_OK(exec_stream_wait(c, second)); /* and so behind a's */
    submit(c, "13");
    CHECK(told() == 0);
    submit(a, "14"); /* behind the record: beside 12 and 13 */
    CHECK(told() == 2);
    exec_event_synchronize(second); /* the host knows 11 and 12, and what it submits is behind */
    exec_stream *d = make(false);
    submit(d, "15"); /* beside 13 and 14 */
    CHECK(told() == 2);
    exec_event_destroy(event);
    exec_event_destroy(second);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
    exec_stream_destroy(c);
    exec_stream_destroy(d);
}

ASSAY_TEST(exec_overlap, the_default_stream_orders_those_that_block, "unit") {
    begin(EXEC_EAGER);
    exec_stream *blocking = make(true), *other = make(false);
    submit(blocking, "21");
    submit(exec_stream_default(), "22");
    submit(blocking, "23");
    CHECK(told() == 0);
    submit(other, "24"); /* beside all three */
    CHECK(told() == 3);
    exec_stream_destroy(blocking); /* its work is not done by that */
    submit(exec_stream_default(), "25");
    CHECK(told() == 1); /* beside 24 only */
    exec_stream_destroy(other);
}

/* Late: work that was submitted first may be done last. */
ASSAY_TEST(exec_overlap, the_order_of_doing_does_not_matter, "unit") {
    begin(EXEC_LATE);
    exec_stream *a = make(false), *b = make(false);
    submit(a, "31");
    submit(b, "32");
    exec_stream_synchronize(b); /* 32 is done, and known; 31 waits */
    CHECK(told() == 0);
    exec_stream_synchronize(a);
    CHECK(told() == 1);
    submit(b, "33");
    exec_streams_synchronize();
    CHECK(told() == 0);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
    begin(EXEC_EAGER);
}
