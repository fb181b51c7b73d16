/*
 * A variant in a process of its own leaves the bits that it leaves in this one. What becomes of
 * variants that crash, hang or cheat there: tests/exploits/.
 */
#include "engine/guest.h"
#include "engine/isolate.h"
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const assay_isolation usual = {.seconds = 60, .gib = 8, .rehearsals = 1};

static const assay_device *open_sim(void) {
    const assay_device *device;
    REQUIRE_OK(assay_device_open("sim", &device));
    return device;
}

static bool same_bits(const assay_arrays *a, const assay_arrays *b) {
    for (int32_t i = 0; i < a->count; ++i)
        if (a->data[i] &&
            memcmp(a->data[i], b->data[i], (size_t)a->size[i] * sizeof *a->data[i]) != 0)
            return false;
    return true;
}

static assay_status run_both(const assay_case *c, void *context) {
    const assay_device *here = open_sim(), *apart = context;
    assay_problem p;
    REQUIRE_OK(assay_problem_init(&p, c));
    for (int32_t v = 0; v < here->n_variants; ++v) {
        const assay_variant *variant = here->variants[v];
        assay_results a, b;
        if (strcmp(variant->op, c->op->name) != 0 || variant->lacks ||
            variant->order == ASSAY_ORDER_ANY ||
            assay_supports(variant, here, &p) == ASSAY_ERR_UNSUPPORTED)
            continue;
        REQUIRE_OK(assay_results_init(&a, &p.sig));
        REQUIRE_OK(assay_results_init(&b, &p.sig));
        REQUIRE_OK(assay_run(variant, here, &p, &a));
        REQUIRE_OK(assay_run(variant, apart, &p, &b));
        CHECK_MSG(same_bits(&a.out, &b.out) && same_bits(&a.grad, &b.grad), "%s/%s differs",
                  variant->op, variant->name);
        assay_results_clear(&a);
        assay_results_clear(&b);
    }
    assay_problem_clear(&p);
    return ASSAY_OK;
}

/* The operator's own first case of the smoke set. */
static assay_status visit_first(const assay_op *op, const assay_device *apart) {
    for (int32_t i = 0; i < op->n_cases; ++i)
        if (op->cases[i].set == ASSAY_SMOKE)
            return assay_op_visit_group(op, &op->cases[i], run_both, (void *)apart);
    return ASSAY_OK;
}

ASSAY_TEST(isolate, same_bits_as_in_this_process, "unit sim") {
    const assay_device *apart;
    REQUIRE_OK(assay_isolate(open_sim(), &usual, &apart));
    for (int32_t i = 0; i < assay_op_count(); ++i)
        REQUIRE_OK(visit_first(assay_op_at(i), apart));
    assay_isolate_end(apart);
}

static assay_status run_case(const assay_device *device, const char *text) {
    assay_case c;
    assay_problem p;
    assay_results got;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    const assay_status status = assay_run(variant_find(device, c.op->name, "v1"), device, &p, &got);
    assay_results_clear(&got);
    assay_problem_clear(&p);
    return status;
}

ASSAY_TEST(isolate, limits_end_a_run_and_the_next_one_goes_on, "unit sim") {
    static const char small[] = "matmul_accumulate m=3 n=4 k=5 dtype=f32 seed=0";
    const assay_isolation hasty = {.seconds = 1e-3, .gib = 8};
    const assay_isolation narrow = {.seconds = 60, .gib = -1}; /* less than a process takes */
    const assay_device *apart;
    REQUIRE_OK(assay_isolate(open_sim(), &hasty, &apart));
    CHECK_FAILS(run_case(apart, "matmul_accumulate m=400 n=400 k=400 dtype=f32 seed=0"),
                ASSAY_ERR_KERNEL, "no answer after 0.001 s");
    assay_isolate_end(apart);

    REQUIRE_OK(assay_isolate(open_sim(), &narrow, &apart));
    CHECK_FAILS(run_case(apart, "matmul_accumulate m=400 n=400 k=400 dtype=f32 seed=0"),
                ASSAY_ERR_KERNEL, "GiB of memory");
    assay_isolate_end(apart);

    REQUIRE_OK(assay_isolate(open_sim(), &usual, &apart));
    CHECK(run_case(apart, small) == ASSAY_OK);
    CHECK(run_case(apart, "weighted_sum n=2 d=3 dtype=f32 seed=0") == ASSAY_OK);
    CHECK(run_case(apart, small) == ASSAY_OK);
    assay_isolate_end(apart);
}

/* Processes whose parent is this one. */
static int32_t children(void) {
    char path[64];
    int32_t count = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    REQUIRE(file != NULL);
    for (int pid; fscanf(file, "%d", &pid) == 1;)
        ++count;
    fclose(file);
    return count;
}

ASSAY_TEST(isolate, together_variants_of_all_operators_share_one_process, "unit sim") {
    static const char *const cases[] = {"matmul_accumulate m=3 n=4 k=5 dtype=f32 seed=0",
                                        "weighted_sum n=2 d=3 dtype=f32 seed=0"};
    const int32_t before = children();
    const assay_device *apart;
    assay_isolation how = usual;
    how.together = true;
    REQUIRE_OK(assay_isolate(open_sim(), &how, &apart));
    for (int32_t i = 0; i < 2; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(cases[i], &c));
        REQUIRE_OK(run_both(&c, (void *)apart));
        CHECK(children() == before + 1);
    }
    assay_isolate_end(apart);
    CHECK(children() == before);
}

/* ---- a process that others ask, too ---- */

typedef struct shared {
    process guest;
    const assay_device *device[2];
} shared;

static shared share(const assay_isolation *with) {
    shared s = {0};
    assay_isolation how = *with;
    how.together = true;
    REQUIRE_OK(assay_isolate_shared("sim", &how, &s.guest));
    how.shared_pid = s.guest.pid;
    for (int32_t i = 0; i < 2; ++i) {
        REQUIRE_OK(guest_share(&s.guest, &how.shared_channel));
        REQUIRE_OK(assay_isolate(open_sim(), &how, &s.device[i]));
    }
    return s;
}

static void part(shared *s) {
    assay_isolate_end(s->device[0]);
    assay_isolate_end(s->device[1]);
    process_stop(&s->guest);
}

ASSAY_TEST(isolate, devices_share_a_process_until_it_ends, "unit sim") {
    static const char text[] = "matmul_accumulate m=3 n=4 k=5 dtype=f32 seed=0";
    const int32_t before = children();
    assay_case c;
    shared s = share(&usual);
    REQUIRE_OK(assay_case_parse(text, &c));
    for (int32_t i = 0; i < 4; ++i)
        REQUIRE_OK(run_both(&c, (void *)s.device[i % 2]));
    CHECK(children() == before + 1);
    process_stop(&s.guest);
    for (int32_t i = 0; i < 4; ++i)
        REQUIRE_OK(run_both(&c, (void *)s.device[i % 2]));
    CHECK(children() == before + 2); /* each has its own now */
    part(&s);
    CHECK(children() == before);
}

/* It may be another's run that stops it, so that one's own is done again. */
ASSAY_TEST(isolate, what_a_shared_process_does_not_answer_is_asked_alone, "unit sim") {
    static const char small[] = "matmul_accumulate m=3 n=4 k=5 dtype=f32 seed=0";
    assay_isolation how = usual;
    how.seconds = 1;
    shared s = share(&how);
    CHECK(run_case(s.device[0], small) == ASSAY_OK);
    REQUIRE(kill(s.guest.pid, SIGSTOP) == 0);
    CHECK(run_case(s.device[0], small) == ASSAY_OK); /* past its limit it has been ended for all */
    CHECK(run_case(s.device[1], small) == ASSAY_OK);
    part(&s);

    how.seconds = 1e-3;
    s = share(&how);
    CHECK_FAILS(run_case(s.device[0], "matmul_accumulate m=400 n=400 k=400 dtype=f32 seed=0"),
                ASSAY_ERR_KERNEL, "no answer after 0.001 s");
    part(&s);
}

ASSAY_TEST(isolate, what_is_missing_is_named, "unit") {
    const assay_device *apart;
    assay_isolation how = usual;
    how.guest = "/nonexistent/guest";
    CHECK_FAILS(assay_isolate(open_sim(), &how, &apart), ASSAY_ERR_FILE, "/nonexistent/guest");
    how = usual;
    how.op = "weighted_sum";
    how.variant = "v1";
    how.kernel = "/nonexistent/kernel.so";
    CHECK_FAILS(assay_isolate(open_sim(), &how, &apart), ASSAY_ERR_FILE, "/nonexistent/kernel.so");

    /* A program that knows nothing of frames. */
    how = usual;
    how.guest = "/bin/true";
    REQUIRE_OK(assay_isolate(open_sim(), &how, &apart));
    CHECK_FAILS(run_case(apart, "weighted_sum n=2 d=3 dtype=f32 seed=0"), ASSAY_ERR_KERNEL,
                "exit code 0");
    assay_isolate_end(apart);

    /* A file without the variant, and one that is no shared object. */
    how = usual;
    how.op = "weighted_sum";
    how.variant = "no_such";
    how.kernel = "/proc/self/exe";
    CHECK_FAILS(assay_isolate(open_sim(), &how, &apart), ASSAY_ERR_USAGE,
                "has no assay_variant_weighted_sum_no_such_sim");
    how.variant = "v1";
    how.kernel = "/etc/passwd";
    REQUIRE_OK(assay_isolate(open_sim(), &how, &apart));
    CHECK_FAILS(run_case(apart, "weighted_sum n=2 d=3 dtype=f32 seed=0"), ASSAY_ERR_KERNEL,
                "cannot be loaded");
    assay_isolate_end(apart);
}
