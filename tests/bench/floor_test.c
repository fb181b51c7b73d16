/*
 * The floor: the least time that a device could take, and what becomes of a row that took less.
 * The expected times are worked out here, from data sheets, a tenth added to each rate:
 *
 *             memory             fp64                tf32                bf16, fp16
 *     H200    4.8   -> 5.28      67   -> 73.7        495 -> 544.5        989 -> 1087.9
 *     H100    3.35  -> 3.685     67   -> 73.7        495 -> 544.5        989 -> 1087.9
 *     A100    2.04  -> 2.244     19.5 -> 21.45       156 -> 171.6        312 -> 343.2
 *
 * in 10^12 bytes and operations a second: 5.28e9 bytes are a millisecond of an H200, and so are
 * 73.7e9 operations in fp64.
 */
#include "bench/case_run.h"

#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double cache = 62914560; /* 60 MiB of L2: an H200's, an H100's */

static bool near(double got, double want) {
    return fabs(got - want) <= 1e-12 * want;
}

/* ---- the figure ---- */

static double floor_on(const char *device, assay_dtype dtype, assay_math math, assay_work work) {
    const bench_ceilings ceilings = bench_ceilings_of(device);
    const assay_params params = {.dtype = dtype, .math = math};
    return bench_floor(&ceilings, &params, &work);
}

static double floor_of(double read, double written, double least) {
    return floor_on("NVIDIA H200", ASSAY_F64, ASSAY_STRICT,
                    (assay_work){.read = read, .written = written, .least = least});
}

ASSAY_TEST(bench_floor, more_bytes_take_longer, "unit") {
    CHECK(near(floor_of(5.28e9, 0, 0), 1000));
    CHECK(near(floor_of(10.56e9, 0, 0), 2000));
    CHECK(floor_of(5.28e9 + 4, 0, 0) > floor_of(5.28e9, 0, 0));
    CHECK(floor_of(0, 0, 0) == 0);
}

/* Bytes that are written may stay in the cache, which is as large as it is. */
ASSAY_TEST(bench_floor, what_the_cache_holds_is_not_written, "unit") {
    CHECK(floor_of(0, cache, 0) == 0);
    CHECK(near(floor_of(0, cache + 5.28e9, 0), 1000));
    CHECK(near(floor_of(5.28e9, cache, 0), 1000));
    CHECK(near(floor_of(5.28e9, cache + 5.28e9, 0), 2000));
}

ASSAY_TEST(bench_floor, the_slower_of_memory_and_arithmetic, "unit") {
    CHECK(near(floor_of(5.28e9, 0, 2 * 73.7e9), 2000));
    CHECK(near(floor_of(5.28e9, 0, 73.7e9 / 2), 1000));
}

/* Not the definition's operations: a cheaper way to the same answers is no fraud. */
ASSAY_TEST(bench_floor, the_least_operations_count, "unit") {
    const assay_work work = {.read = 5.28e9, .flops = 1e18, .least = 0};
    CHECK(near(floor_on("NVIDIA H200", ASSAY_BF16, ASSAY_STRICT, work), 1000));
}

typedef struct sheet {
    const char *device; /* as a probe says it */
    double bytes;       /* and operations of each dtype: of a millisecond */
    double operations[ASSAY_DTYPES];
} sheet;

static const sheet sheets[] = {
    {"NVIDIA H200, driver 580.82.07, 132 SMs", 5.28e9, {73.7e9, 544.5e9, 1087.9e9, 1087.9e9}},
    {"NVIDIA H100 80GB HBM3, driver 580.82.07", 3.685e9, {73.7e9, 544.5e9, 1087.9e9, 1087.9e9}},
    {"NVIDIA A100-SXM4-80GB, driver 580.82.07", 2.244e9, {21.45e9, 171.6e9, 343.2e9, 343.2e9}},
};

/* fp32 may go as fast as TF32, whether the caller asks for TF32 or not. */
static void check_operations(const sheet *s, assay_dtype dtype, assay_math math) {
    const assay_work once = {.least = s->operations[dtype]};
    const assay_work twice = {.least = 2 * s->operations[dtype]};
    const double one = floor_on(s->device, dtype, math, once);
    const double two = floor_on(s->device, dtype, math, twice);
    CHECK_MSG(near(one, 1000) && near(two, 2000), "%s, %s, %s: %g and %g us, not 1000 and 2000",
              s->device, assay_dtype_name(dtype), assay_math_name(math), one, two);
}

ASSAY_TEST(bench_floor, more_operations_take_longer_in_every_dtype_and_math, "unit") {
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; ++i)
        for (assay_dtype dtype = ASSAY_F64; dtype <= ASSAY_F16; ++dtype)
            for (assay_math math = ASSAY_STRICT; math <= ASSAY_TF32; ++math)
                check_operations(&sheets[i], dtype, math);
}

ASSAY_TEST(bench_floor, each_device_has_its_memory, "unit") {
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; ++i) {
        const sheet *s = &sheets[i];
        const assay_work work = {.read = s->bytes};
        CHECK_MSG(near(floor_on(s->device, ASSAY_F32, ASSAY_STRICT, work), 1000), "%s", s->device);
    }
}

ASSAY_TEST(bench_floor, unknown_devices_have_none, "unit") {
    const assay_work work = {.read = 1e12, .written = 1e12, .flops = 1e18, .least = 1e18};
    CHECK(isnan(floor_on("simulated CUDA device", ASSAY_F32, ASSAY_STRICT, work)));
    CHECK(isnan(floor_on("NVIDIA GeForce RTX 4090", ASSAY_BF16, ASSAY_STRICT, work)));
}

/* ---- a row that is held to it ---- */

enum { SAMPLES = 5 };

/* An arm that was timed: two samples beside the median on either side. */
static runner timed(double median, double least) {
    runner r = {.loaded = true, .row = {.n_samples = SAMPLES, .floor = least}};
    const double sample[SAMPLES] = {3 * median, 0.5 * median, median, 1.5 * median, 0.25 * median};
    r.row.sample = malloc(sizeof sample);
    REQUIRE(r.row.sample != NULL);
    memcpy(r.row.sample, sample, sizeof sample);
    return r;
}

static void check_kept(double median, double least) {
    runner r = timed(median, least);
    case_run_hold_to_floor(&r);
    CHECK_MSG(r.status == BENCH_OK && r.reason[0] == '\0', "%g us, floor %g us: %s", median, least,
              r.reason);
    runner_drop_samples(&r);
}

ASSAY_TEST(bench_floor, less_is_an_error_that_names_both, "unit") {
    runner r = timed(406.5, 406.75);
    case_run_hold_to_floor(&r);
    CHECK(r.status == BENCH_ERROR);
    CHECK_STREQ(r.reason,
                "406.5 us is less than the 406.8 us that the device needs at least for this work");
    CHECK(!runner_goes(&r));
    runner_drop_samples(&r);
}

/* Single samples below it are noise; the median is what is shown. */
ASSAY_TEST(bench_floor, as_much_and_more_are_kept, "unit") {
    check_kept(407, 406.75);
    check_kept(406.75, 406.75);
    check_kept(4067.5, 406.75);
}

ASSAY_TEST(bench_floor, where_none_is_known_every_time_is_kept, "unit") {
    check_kept(1e-9, NAN);
}

/* ---- from a case's words to its row ---- */

typedef struct fixture {
    assay_device device;
    assay_case c;
    bench_arm what;
    bench_plan plan;
    bench_results results;
    bench_session session;
    case_run k;
} fixture;

/* A case on an H200; the test needs none. */
static void start(fixture *f, const char *words) {
    *f = (fixture){.device = {.name = "cuda"}, .what = {.name = "v3", .label = "assay v3"}};
    REQUIRE_OK(assay_case_parse(words, &f->c));
    f->plan = (bench_plan){.experiment = "", .c = &f->c};
    f->session = (bench_session){
        .device = &f->device, .results = &f->results, .ceilings = bench_ceilings_of("NVIDIA H200")};
    f->k = (case_run){.s = &f->session, .plan = &f->plan};
    assay_case_format(&f->c, f->k.text);
}

static void start_row(const fixture *f, runner *r, bench_stage stage) {
    assay_work work;
    REQUIRE_OK(case_run_work(&f->c, stage, &work));
    *r = (runner){.what = &f->what, .loaded = true};
    case_run_start_row(&f->k, r, stage, &work);
}

static double floor_of_stage(const char *words, bench_stage stage) {
    fixture f;
    runner r;
    start(&f, words);
    start_row(&f, &r, stage);
    return r.row.floor;
}

#define LARGE "weighted_sum n=65536 d=8192"

/*
 * x and dx have 2^29 elements, w and dw 2^13, y and dy 2^16. Elements read, and elements written of
 * which 60 MiB may stay in the cache:
 *     forward    x, w        y, which stays
 *     backward   x, w, dy    dx, dw
 *     both       x, w, dy    y, dx, dw
 */
ASSAY_TEST(bench_floor, of_a_case_by_stage_and_dtype, "unit") {
    const double x = 536870912, w = 8192, y = 65536;
    CHECK(near(floor_of_stage(LARGE " dtype=f32", BENCH_FORWARD), 4 * (x + w) / 5.28e6));
    CHECK(near(floor_of_stage(LARGE " dtype=bf16", BENCH_FORWARD), 2 * (x + w) / 5.28e6));
    CHECK(near(floor_of_stage(LARGE " dtype=f64", BENCH_FORWARD), 8 * (x + w) / 5.28e6));
    CHECK(near(floor_of_stage(LARGE " dtype=f32", BENCH_BACKWARD),
               (4 * (x + w + y) + 4 * (x + w) - cache) / 5.28e6));
    CHECK(near(floor_of_stage(LARGE " dtype=f32", BENCH_BOTH),
               (4 * (x + w + y) + 4 * (y + x + w) - cache) / 5.28e6));
}

#define PRODUCT "matmul_accumulate m=4096 n=4096 k=4096"

/* 2 * 4096^3 operations, which a product that is added 50 times needs once. */
ASSAY_TEST(bench_floor, of_a_case_that_computes, "unit") {
    const double least = 2 * 68719476736.0;
    CHECK(near(floor_of_stage(PRODUCT " dtype=bf16", BENCH_FORWARD), least / 1087.9e6));
    CHECK(near(floor_of_stage(PRODUCT " dtype=f32", BENCH_FORWARD), least / 544.5e6));
    CHECK(near(floor_of_stage(PRODUCT " dtype=f32 math=tf32", BENCH_FORWARD), least / 544.5e6));
    CHECK(near(floor_of_stage(PRODUCT " iters=50 dtype=f32", BENCH_FORWARD), least / 544.5e6));
}

static const bench_row *run_row(fixture *f, double median) {
    runner r;
    start_row(f, &r, BENCH_FORWARD);
    runner times = timed(median, r.row.floor);
    r.row.sample = times.row.sample;
    r.row.n_samples = times.row.n_samples;
    case_run_hold_to_floor(&r);
    REQUIRE_OK(case_run_finish_rows(&f->k, &r));
    return &f->results.row[0];
}

/* 406.7 us are what an H200 needs: a row of an arm that says less holds no time, and none of an
 * earlier run, cold or warm. */
ASSAY_TEST(bench_floor, a_row_below_it_shows_no_times, "unit") {
    fixture f;
    start(&f, LARGE " dtype=f32");
    const bench_row *row = run_row(&f, 410);
    CHECK(f.results.count == 2 && row->status == BENCH_OK && row->n_samples == SAMPLES);
    CHECK_STREQ(row->reason, "");

    row = run_row(&f, 400);
    CHECK(f.results.count == 1 && row->status == BENCH_ERROR);
    CHECK(row->n_samples == 0 && row->sample == NULL);
    CHECK_MSG(strstr(row->reason, "400 us is less than the 406.7 us") != NULL, "%s", row->reason);
    bench_results_clear(&f.results);
}

/* ---- in a session ---- */

static bool admit(void *context, const assay_case *c, const char *variant, char why[BENCH_REASON]) {
    (void)context, (void)c, (void)variant, (void)why;
    return true;
}

static bool go_on(void *context, const char *line) {
    (void)context, (void)line;
    return true;
}

/* v1 on the simulated device, whose memory is said to read that many bytes a second. */
static void run_session(bench_results *results, double bytes) {
    static const char *const variant = "v1";
    static const bench_stage stage = BENCH_FORWARD;
    assay_case c;
    bench_arms arms;
    bench_session session = {.gate = admit, .progress = go_on, .results = results, .samples = 5};
    REQUIRE_OK(assay_case_parse("weighted_sum n=5 d=7", &c));
    REQUIRE_OK(assay_device_open("sim", &session.device));
    REQUIRE_OK(bench_arms_init(&arms, session.device, "weighted_sum", &variant, 1, "none"));
    REQUIRE_OK(bench_session_init(&session));
    CHECK(isnan(session.ceilings.bytes));
    session.ceilings = bench_ceilings_of("NVIDIA H200");
    session.ceilings.bytes = bytes;
    const bench_plan plan = {
        .experiment = "", .c = &c, .stage = &stage, .n_stages = 1, .arms = &arms};
    REQUIRE_OK(bench_session_run(&session, &plan));
    bench_session_clear(&session);
    bench_arms_clear(&arms);
}

/* x, w have 42 elements of 4 bytes: 168 seconds / 1.1 where it reads a byte a second. */
ASSAY_TEST(bench_floor, a_session_holds_its_arms_to_it, "unit") {
    bench_results results = {0};
    run_session(&results, 1);
    REQUIRE(results.count == 1);
    CHECK(results.row[0].status == BENCH_ERROR && results.row[0].n_samples == 0);
    CHECK_MSG(strstr(results.row[0].reason, "less than the 1.527e+08 us") != NULL, "%s",
              results.row[0].reason);
    bench_results_clear(&results);
}
