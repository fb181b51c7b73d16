/*
 * assay_arm, asked as docs/bench.md has it: what it computes while it is timed is what the check
 * engine's runner gives, and a kernel that remembers gains nothing.
 */
#include "tests/bench/arm_client.h"
#include "tests/shim/assay_test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM "weighted_sum n=6 d=40 dtype=f32"

/* ---- results ---- */

typedef struct sample {
    const char *device, *op, *variant, *words;
    int32_t n_sets;
} sample;

#define LM "transformer size=tiny b=1 t=5 vocab=23 d=6 ff=5 layers=1 heads=1 dtype=bf16"

static const sample samples[] = {
    {"sim", "weighted_sum", "v1", SUM, 3},
    {"sim", "attention", "v1", "attention b=2 h=1 sq=9 d=8 dtype=f32", 1},
#if !defined(ASSAY_INSTRUMENTED) /* whose numbers are the same */
    {"sim", "kronecker", "v3", "kronecker b=5 f=4x3x5 q=2x7x3 dtype=f32", 1},
    {"sim", "rmsnorm", "v3", "rmsnorm n=16 d=128 residual=1 dtype=bf16", 3},
    {"sim", "cross_entropy", "v3", "cross_entropy t=8 v=100 dtype=f64", 3},
    {"sim", "transformer", "v3", LM, 2},
#endif
#if defined(ASSAY_GPU_TESTS)
    {"cuda", "weighted_sum", "v3", "weighted_sum n=4096 d=40 dtype=f32", 3},
    {"cuda", "kronecker", "v3", "kronecker b=5 f=4x3x5 q=2x7x3 dtype=f32", 1},
    {"cuda", "cross_entropy", "v3", "cross_entropy t=8 v=100 dtype=bf16", 3},
    {"cuda", "transformer", "v3", LM, 2},
#endif
};

static int numbers_in(const char *answer) {
    int count = 0;
    for (char *end;; answer = end, ++count) {
        const double value = strtod(answer, &end);
        if (end == answer)
            return count;
        CHECK_MSG(value > 0 && value < 1e8, "%g us", value);
    }
}

static void check_times(client *c, const char *command, int count) {
    SAY(c, "%s", command);
    CHECK_MSG(numbers_in(c->process.answer) == count, "%s: %s", command, c->process.answer);
}

static void check_timed(client *c, const sample *s, const char *stage) {
    for (int32_t set = c->n_sets > 1; set < c->n_sets; ++set)
        CHECK_MSG(client_agrees(c, set, stage), "%s/%s %s: timed calls on set %d", s->op,
                  s->variant, stage, set);
}

static void check_stage(client *c, const sample *s, const char *stage) {
    SAY(c, "ready %s", stage);
    SAY(c, "run 0");
    CHECK_MSG(client_agrees(c, 0, stage), "%s/%s %s: run", s->op, s->variant, stage);
    check_times(c, "time cold 3 0", 3);
    check_times(c, "time cold 3 1", 3);
    check_timed(c, s, stage);
    check_times(c, "time warm 2 0", 2);
    SAY(c, "burst 7");
    check_times(c, "time warm 2 1", 2);
    check_timed(c, s, stage);
    SAY(c, "done");
}

static void check_sample(void *context) {
    const sample *s = context;
    char name[128];
    client c;
    snprintf(name, sizeof name, "%s/%s", s->op, s->variant);
    client_start(&c, s->device, NULL, name);
    client_describe(&c, s->variant, s->words, s->n_sets);
    check_stage(&c, s, "forward");
    check_stage(&c, s, "backward");
    check_stage(&c, s, "forward+backward");
    client_end(&c);
}

__attribute__((constructor)) static void register_samples(void) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; ++i) {
        const sample *s = &samples[i];
        char name[128];
        snprintf(name, sizeof name, "%s/%s on %s", s->op, s->variant, s->device);
        assay_test_register("arm", name, strcmp(s->device, "sim") == 0 ? "unit" : "gpu",
                            check_sample, (void *)s);
    }
}

/* ---- kernels that remember ---- */

#if !defined(ASSAY_INSTRUMENTED) /* where there are no kernel files, or no reason to repeat this   \
                                  */

/* Starts one of a kernel file, with sets of a case. */
static void start_kernel(client *c, const char *device, const char *file, const char *name,
                         const char *words, int32_t n_sets) {
    char path[512], full[128];
    snprintf(path, sizeof path, "%s/%s.so", ASSAY_EXPLOITS, file);
    snprintf(full, sizeof full, "weighted_sum/%s", name);
    client_start(c, device, path, full);
    client_describe(c, "v1", words, n_sets);
}

static void time_kernel(client *c, const char *device, const char *file, const char *name) {
    start_kernel(c, device, file, name, SUM, CLIENT_SETS);
    SAY(c, "ready forward");
    SAY(c, "time cold 24 0");
    SAY(c, "time cold 4 1");
}

static bool is_right(const char *device, const char *file, const char *name) {
    client c;
    time_kernel(&c, device, file, name);
    const bool right = client_agrees(&c, 1, "forward") && client_agrees(&c, 2, "forward");
    client_end(&c);
    return right;
}

ASSAY_TEST(arm, what_a_kernel_remembers_is_wrong, "unit") {
    CHECK(is_right("sim", "v1", "v1"));
    CHECK(is_right("sim", "state", "cached_by_content"));
    CHECK(!is_right("sim", "state", "cached_by_pointer"));
    CHECK(!is_right("sim", "state", "cached_by_shape"));
    CHECK(!is_right("sim", "state", "cached_by_sample"));
    CHECK(!is_right("sim", "state", "right_ten_times"));
    CHECK(!is_right("sim", "state", "skips_when_timed"));
}

/* The first element that the set's last call left at one of its offsets. */
static float first_at(client *c, int32_t set, size_t offset) {
    float value;
    SAY(c, "take %d", set);
    memcpy(&value, c->memory + offset, sizeof value);
    return value;
}

static float first_of(client *c, int32_t set) {
    return first_at(c, set, c->set[set].out[0]);
}

ASSAY_TEST(arm, no_data_are_timed_twice, "unit") {
    client c;
    time_kernel(&c, "sim", "arm_counts", "counts_repeats");
    CHECK_MSG(first_of(&c, 2) == 0, "%g repeats", (double)first_of(&c, 2));
    SAY(&c, "run 2"); /* on the set as it was given, as the last timed call was */
    CHECK_MSG(first_of(&c, 2) == 1, "%g repeats", (double)first_of(&c, 2));
    client_end(&c);
}

ASSAY_TEST(arm, no_outputs_of_forward_are_seen_twice, "unit") {
    client c;
    start_kernel(&c, "sim", "arm_counts", "counts_known_outputs",
                 "weighted_sum n=4096 d=2 dtype=f32", 1);
    SAY(&c, "ready backward");
    SAY(&c, "time cold 3 0");
    SAY(&c, "time cold 1 1");
    const float repeats = first_at(&c, 0, c.set[0].grad[0]);
    CHECK_MSG(repeats == 0, "%g repeats", (double)repeats);
    client_end(&c);
}

ASSAY_TEST(arm, outputs_hold_nan_before_each_call, "unit") {
    client c;
    time_kernel(&c, "sim", "arm_counts", "counts_stale");
    CHECK_MSG(first_of(&c, 2) == 0, "%g elements", (double)first_of(&c, 2));
    SAY(&c, "burst 9"); /* between whose calls nothing happens: six outputs each time */
    CHECK_MSG(first_of(&c, 1) == 54, "%g elements", (double)first_of(&c, 1));
    client_end(&c);
}

#if defined(ASSAY_GPU_TESTS)
ASSAY_TEST(arm, other_streams_are_too_early_or_too_late_on_cuda, "gpu") {
    CHECK(!is_right("cuda", "gpu_cuda", "side_stream"));
}

ASSAY_TEST(arm, cache_set_aside_ends_it_on_cuda, "gpu") {
    client c;
    start_kernel(&c, "cuda", "gpu_cuda", "keeps_l2", SUM, 1);
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "changed the L2 cache's persisting set-aside",
                  "ready forward");
    client_end(&c);
}
#endif

#endif

/* ---- memory ---- */

ASSAY_TEST(arm, memory_of_a_call, "unit") {
    client c;
    client_start(&c, "sim", NULL, "weighted_sum/v1");
    client_describe(&c, "v1", SUM, 2);
    SAY(&c, "ready forward");
    SAY(&c, "memory"); /* x, w, y */
    CHECK_STREQ(c.process.answer, "1144 0");
    SAY(&c, "done");
    SAY(&c, "ready backward");
    SAY(&c, "memory"); /* and dy, dx, dw; before: not the gradients */
    CHECK_STREQ(c.process.answer, "2288 1168");
    client_end(&c);
}

ASSAY_TEST(arm, memory_counts_workspace, "unit") {
    client c;
    client_start(&c, "sim", NULL, "attention/v1");
    client_describe(&c, "v1", "attention b=2 h=1 sq=9 d=8 dtype=f32", 1);
    SAY(&c, "ready forward");
    SAY(&c, "memory"); /* q, k, v, o of 2·9·8 floats, lse of 2·9, a head's scores, 9·9 */
    CHECK_STREQ(c.process.answer, "2700 0");
    client_end(&c);
}

/* ---- what it refuses ---- */

/* Lines that are wrong after those that are right. */
static void describe_sum(client *c) {
    SAY(c, "case %zu", client_case(c, SUM));
    SAY(c, "set 0");
    SAY(c, "in x f32 0 6 40");
    SAY(c, "in w f32 960 40");
    SAY(c, "out y f32 1120 6");
}

ASSAY_TEST(arm, order_of_commands, "unit") {
    client c;
    client_start(&c, "sim", NULL, "weighted_sum/v1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "hello was given twice", "hello sim");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'set' comes after 'case'", "set 0");
    SAY(&c, "case %zu", client_case(&c, SUM));
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'in' comes after 'set'", "in x f32 0 6 40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'run' comes after 'ready'", "run 0");
    describe_sum(&c);
    SAY(&c, "ready forward");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'ready' comes after 'done'", "ready forward");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'set' comes after 'done'", "set 1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "set 0 has no results", "take 0");
    client_end(&c);
}

ASSAY_TEST(arm, malformed_lines, "unit") {
    client c;
    client_start(&c, "sim", NULL, "weighted_sum/v1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'' is not a command of the arm v1", "%s", "");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "'stop' is not a command of the arm v1", "stop");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "not 'weighted_sum'", "case weighted_sum n=6 d=40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "ends before the case", "case %d", CLIENT_MEMORY - 1);
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "ends before the case", "case %d", CLIENT_MEMORY + 1);
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "holds no case", "case 0");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "a case of rmsnorm", "case %zu",
                  client_case(&c, "rmsnorm n=2 d=8"));
    CHECK_REFUSED(&c, ASSAY_ERR_UNSUPPORTED, "dense and aligned", "case %zu",
                  client_case(&c, SUM " pad=1"));
    describe_sum(&c);
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "from 0 to 1, not '2'", "set 2");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "from 0 to 1, not '1x'", "set 1x");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "no such tensor: 'z'", "in z f32 0 6 40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "no such tensor: 'y'", "in y f32 0 6");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "x is of dtype f32, not 'bf16'", "in x bf16 0 6 40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "the offset is an integer", "in x f32 -4 6 40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "axis 1 of x is an integer from 40 to 40, not '41'",
                  "in x f32 0 6 41");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "axis 1 of x is missing", "in x f32 0 6");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "unexpected words: '1'", "in x f32 0 6 40 1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "960 bytes at 4193345 are not within", "in x f32 %d 6 40",
                  CLIENT_MEMORY - 959);
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "are not within the shared memory's",
                  "in x f32 9223372036854775807 6 40");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "there is no stage 'both'", "ready both");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "set 0: 'cot y ...' is missing", "ready backward");
    SAY(&c, "ready forward"); /* none of these has harmed it */
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "from 0 to 0, not '1'", "run 1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "from 0 to 0, not '-1'", "take -1");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "cold or warm, not 'hot'", "time hot 3 0");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "the count is an integer from 1", "time cold 0 0");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "whether these are the last is", "time cold 3 2");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "the count is missing", "burst");
    CHECK_REFUSED(&c, ASSAY_ERR_UNSUPPORTED, "no second timer", "self 3");
    SAY(&c, "time cold 1 1");
    client_end(&c);
}

ASSAY_TEST(arm, last_calls_are_on_every_set, "unit") {
    client c;
    client_start(&c, "sim", NULL, "weighted_sum/v1");
    client_describe(&c, "v1", SUM, CLIENT_SETS);
    SAY(&c, "ready forward");
    CHECK_REFUSED(&c, ASSAY_ERR_KERNEL, "one on each of 2 sets", "time cold 1 1");
    client_end(&c);
}

ASSAY_TEST(arm, a_case_that_does_not_fit, "unit") {
    client c;
    client_start(&c, "sim", NULL, "attention/v1"); /* which keeps a head's scores: 4 TB of them */
    SAY(&c, "case %zu", client_case(&c, "attention b=1 h=1 sq=1000000 d=1 dtype=f32"));
    SAY(&c, "set 0");
    SAY(&c, "in q f32 0 1 1 1000000 1");
    SAY(&c, "in k f32 0 1 1 1000000 1");
    SAY(&c, "in v f32 0 1 1 1000000 1");
    SAY(&c, "out o f32 0 1 1 1000000 1");
    SAY(&c, "out lse f32 0 1 1 1000000");
    CHECK_REFUSED(&c, ASSAY_ERR_MEMORY, "GiB", "ready forward");
    client_describe(&c, "v1", "attention b=1 h=1 sq=9 d=8 dtype=f32", 1);
    SAY(&c, "ready forward"); /* it is of use still */
    SAY(&c, "time cold 1 1");
    CHECK(client_agrees(&c, 0, "forward"));
    client_end(&c);
}

ASSAY_TEST(arm, a_case_without_gradients, "unit") {
    client c;
    client_start(&c, "sim", NULL, "adamw/v1");
    client_describe(&c, "v1", "adamw n=7 dtype=f32", 1);
    SAY(&c, "ready forward");
    SAY(&c, "done");
    CHECK_REFUSED(&c, ASSAY_ERR_UNSUPPORTED, "no gradients", "ready backward");
    client_end(&c);
}

/* ---- what it needs ---- */

static void check_hello(const char *name, const char *kernel, const char *line, assay_status status,
                        const char *text) {
    char *const built_in[] = {ASSAY_ARM_PATH, (char *)name, NULL};
    char *const in_file[] = {ASSAY_ARM_PATH, "--kernel", (char *)kernel, (char *)name, NULL};
    arm_process a;
    REQUIRE_OK(arm_process_start(&a, kernel ? in_file : built_in, -1));
    CHECK_FAILS(arm_process_ask(&a, client_patience, "%s", line), status, text);
    arm_process_end(&a);
}

ASSAY_TEST(arm, who_it_cannot_be, "unit") {
    check_hello("weighted_sum/v9", NULL, "hello sim", ASSAY_ERR_KERNEL,
                "weighted_sum has no variant v9 on sim");
    check_hello("weighted_sum/v1", NULL, "hello tpu", ASSAY_ERR_KERNEL, "tpu: no such device");
    check_hello("weighted_sum/v1", "/nowhere.so", "hello sim", ASSAY_ERR_KERNEL,
                "cannot be loaded");
    check_hello("weighted_sum", NULL, "hello sim", ASSAY_ERR_KERNEL,
                "'weighted_sum' is not an arm");
}

ASSAY_TEST(arm, no_shared_memory, "unit") {
    char *const argv[] = {ASSAY_ARM_PATH, "weighted_sum/v1", NULL};
    arm_process a;
    (void)fcntl(3, F_SETFD, FD_CLOEXEC); /* should this process have been given one */
    REQUIRE_OK(arm_process_start(&a, argv, -1));
    REQUIRE_OK(arm_process_ask(&a, client_patience, "hello sim"));
    CHECK_FAILS(arm_process_ask(&a, client_patience, "case 0"), ASSAY_ERR_KERNEL,
                "there is no shared memory");
    arm_process_end(&a);
}

/* ---- the arm that times the timer ---- */

ASSAY_TEST(arm, clock_times_what_is_known, "unit") {
    char *const argv[] = {ASSAY_ARM_PATH, "clock", NULL};
    arm_process a;
    REQUIRE_OK(arm_process_start(&a, argv, -1));
    REQUIRE_OK(arm_process_ask(&a, client_patience, "hello sim"));
    REQUIRE_OK(arm_process_ask(&a, client_patience, "spin 300 5"));
    double least = INFINITY;
    char *at = a.answer;
    for (int i = 0; i < 5; ++i)
        least = fmin(least, strtod(at, &at));
    CHECK_MSG(least >= 300 && least < 3000 && *at == '\0', "%s", a.answer);
    REQUIRE_OK(arm_process_ask(&a, client_patience, "copy 100000 3"));
    CHECK(numbers_in(a.answer) == 3);
    CHECK_FAILS(arm_process_ask(&a, client_patience, "ready forward"), ASSAY_ERR_KERNEL,
                "'ready' is not a command of the arm clock");
    CHECK_FAILS(arm_process_ask(&a, client_patience, "spin 0 5"), ASSAY_ERR_KERNEL,
                "microseconds is an integer from 1");
    arm_process_end(&a);
}
