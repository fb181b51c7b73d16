/*
 * A tensor that goes up and comes back in pieces, two here with a border inside a row: every
 * element is where it belongs, and whatever is wrong in one of them is found.
 */
#include "engine/pattern.h"
#include "engine/pieces.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "rmsnorm n=45007 d=101 pad=3 misalign=1 dtype=f64 seed=0";
enum { ROWS = 45007, D = 101, KINDS = 16, SMALL = KINDS * D };

/* Tensor x and its problem; the simulated device's memory is the host's. */
typedef struct bench {
    const assay_device *device;
    sample s;
    assay_problem p;
    buffer b;
    pieces how;
    double home[SMALL];
    _Atomic double low[SMALL], high[SMALL];
    pieces_got got;
} bench;

static void set_up(bench *t) {
    assay_case c;
    variant_runs v;
    REQUIRE_OK(assay_device_open("sim", &t->device));
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(variant_runs_init(&v, t->device, "rmsnorm", NULL, 0));
    REQUIRE_OK(sample_init(&t->s, &c, KINDS, &v));
    REQUIRE_OK(sample_problem(&t->s, &t->p));
    variant_runs_clear(&v);
    t->how = (pieces){.s = &t->s,
                      .whole = &t->s.sig.in[0],
                      .axis = sample_axis_of(&t->s.sig.in[0], &t->p.sig.in[0]),
                      .role = PIECES_INPUT,
                      .small = t->p.in.data[0]};
    t->got = (pieces_got){t->home, t->low, t->high};
    REQUIRE_OK(
        buffer_reserve(&t->b, t->device, &t->s.sig.in[0], "x", buffer_spacing(&t->s.whole, 0)));
    REQUIRE_OK(pieces_upload(&t->b, &t->how));
}

static void tear_down(bench *t) {
    buffer_clear(&t->b);
    assay_problem_clear(&t->p);
    sample_clear(&t->s);
    free(t);
}

static bench *new_bench(void) {
    bench *t = calloc(1, sizeof *t);
    REQUIRE(t);
    set_up(t);
    return t;
}

static assay_status copy_here(void *to, const void *from, size_t bytes) {
    memmove(to, from, bytes);
    return ASSAY_OK;
}

static double *element(const bench *t, int64_t row, int64_t column) {
    return (double *)(void *)(t->b.memory + buffer_offset(&t->b, row * D + column));
}

static assay_status take(bench *t, pieces_role role) {
    t->how.role = role;
    for (int i = 0; i < SMALL; ++i) {
        t->low[i] = INFINITY;
        t->high[i] = -INFINITY;
    }
    return pieces_take_back(&t->b, &t->how, &t->got);
}

ASSAY_TEST(pieces, every_element_is_where_it_belongs, "unit sim") {
    bench *t = new_bench();
    int64_t wrong = 0;
    for (int64_t row = 0; row < ROWS; ++row)
        wrong += memcmp(element(t, row, 0), t->p.in.data[0] + sample_twin(&t->s, row) * D,
                        D * sizeof(double)) != 0;
    CHECK_MSG(wrong == 0, "%lld rows are wrong", (long long)wrong);
    CHECK(pieces_check_unchanged(&t->b) == ASSAY_OK);
    *element(t, ROWS - 1, D - 1) += 1;
    CHECK_FAILS(pieces_check_unchanged(&t->b), ASSAY_ERR_KERNEL, "changed its input x");
    tear_down(t);
}

ASSAY_TEST(pieces, of_an_output_every_row_counts, "unit sim") {
    bench *t = new_bench();
    const double *small = t->p.in.data[0];
    int64_t wrong = 0;
    REQUIRE_OK(take(t, PIECES_OUTPUT));
    for (int i = 0; i < SMALL; ++i)
        wrong += t->home[i] != small[i] || t->low[i] != small[i] || t->high[i] != small[i];
    CHECK_MSG(wrong == 0, "%lld elements are wrong", (long long)wrong);

    const int64_t row = 43000, at = sample_twin(&t->s, row) * D + 7;
    REQUIRE(t->s.home[sample_twin(&t->s, row)] != row);
    *element(t, row, 7) = small[at] + 1;
    REQUIRE_OK(take(t, PIECES_OUTPUT));
    CHECK(t->home[at] == small[at] && t->low[at] == small[at] && t->high[at] == small[at] + 1);
    *element(t, row, 7) = NAN;
    REQUIRE_OK(take(t, PIECES_OUTPUT));
    CHECK(t->home[at] == small[at] && isnan(t->low[at]) && isnan(t->high[at]));

    static const unsigned char pattern[] = {0xA5, 0xFF, 0xA5, 0xFF, 0xA5, 0xFF, 0xA5, 0xFF};
    memcpy(element(t, row, 7), pattern, sizeof pattern);
    CHECK_FAILS(take(t, PIECES_OUTPUT), ASSAY_ERR_KERNEL, "left x unwritten, first at (43000, 7)");
    *element(t, row, 7) = small[at];
    buffer_guard(&t->b, false);
    element(t, row, D - 1)[1] = 0; /* the padding behind the row */
    buffer_guard(&t->b, true);
    CHECK_FAILS(take(t, PIECES_OUTPUT), ASSAY_ERR_KERNEL, "wrote outside x");
    tear_down(t);
}

ASSAY_TEST(pieces, gradients_are_zero_but_at_home, "unit sim") {
    bench *t = new_bench();
    int64_t wrong = 0;
    for (int64_t row = 0; row < ROWS; ++row)
        if (t->s.home[sample_twin(&t->s, row)] != row)
            memset(element(t, row, 0), 0, D * sizeof(double));
    REQUIRE_OK(take(t, PIECES_GRADIENT));
    for (int i = 0; i < SMALL; ++i)
        wrong += t->home[i] != t->p.in.data[0][i];
    CHECK(wrong == 0);
    *element(t, 43000, 7) = 0.5;
    CHECK_FAILS(take(t, PIECES_GRADIENT), ASSAY_ERR_KERNEL,
                "x is 0.5 at (43000, 7), where the row's cotangents are 0");
    tear_down(t);
}

/* On a device that copies, as on one that does not. */
ASSAY_TEST(pieces, an_output_holds_the_pattern, "unit sim") {
    bench *t = new_bench();
    assay_device copies = *t->device;
    copies.copy = copy_here;
    t->how.role = PIECES_OUTPUT;
    for (int i = 0; i < 2; ++i) {
        t->b.device = i == 0 ? t->device : &copies;
        buffer_guard(&t->b, false);
        memset(t->b.memory, 0, t->b.bytes);
        REQUIRE_OK(pieces_upload(&t->b, &t->how));
        buffer_guard(&t->b, false);
        CHECK(pattern_breaks(t->b.memory, 0, t->b.bytes) == t->b.bytes);
    }
    tear_down(t);
}
