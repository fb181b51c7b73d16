/* Which rows are homes. It is a file of its own because a guest, which shares the other code of
 * samples, knows no operators. */
#include "engine/sample.h"
#include "engine/variant_run.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- which rows ---- */

static const int64_t first_elements[] = {INT64_C(1) << 31, INT64_C(1) << 32};
enum { GRID = 65535 }; /* blocks in y and z at most */

static void add_row(sample *s, int64_t limit, int64_t row) {
    if (row < 0 || row >= s->rows || s->count >= limit)
        return;
    for (int64_t i = 0; i < s->count; ++i)
        if (s->home[i] == row)
            return;
    s->home[s->count++] = row;
}

static void add_both_sides(sample *s, int64_t limit, int64_t row) {
    add_row(s, limit, row - 1);
    add_row(s, limit, row);
}

/* The rows on both sides of an element and of a byte of that number. */
static void add_crossings(sample *s, int64_t limit, const assay_tensor_spec *whole,
                          const assay_tensor_spec *part) {
    const sample_axis axis = sample_axis_of(whole, part);
    const int64_t size = (int64_t)assay_dtype_size(whole->dtype), count = assay_spec_count(whole);
    for (size_t i = 0; axis.inner > 0 && i < sizeof first_elements / sizeof *first_elements; ++i) {
        const int64_t elements[] = {first_elements[i], first_elements[i] / size};
        for (int e = 0; e < 2; ++e)
            if (elements[e] < count) {
                add_row(s, limit, (elements[e] - 1) / axis.inner % s->rows);
                add_row(s, limit, elements[e] / axis.inner % s->rows);
            }
    }
}

static void add_borders(sample *s, int64_t limit, int64_t tile) {
    add_both_sides(s, limit, tile);
    add_both_sides(s, limit, s->rows / tile * tile);
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them and leaves out those that are there already. */
static void settle_rows(sample *s) {
    int64_t kept = 0;
    qsort(s->home, (size_t)s->count, sizeof *s->home, ascending);
    for (int64_t i = 0; i < s->count; ++i)
        if (kept == 0 || s->home[kept - 1] != s->home[i])
            s->home[kept++] = s->home[i];
    s->count = kept;
}

static void draw_rows(sample *s, int64_t count) {
    assay_rng rng = {.seed = s->whole.seed, .stream = assay_rng_stream("homes")};
    settle_rows(s);
    while (s->count < count) {
        while (s->count < count)
            s->home[s->count++] = assay_rng_between(&rng, 0, s->rows - 1);
        settle_rows(s);
    }
}

static assay_status choose_rows(sample *s, int64_t count, const variant_runs *t) {
    const int64_t wanted = smaller(count, s->rows), half = larger(wanted / 2, smaller(wanted, 2));
    /* The specs of the small problem differ from the whole's in the axis of the rows alone. */
    assay_signature part;
    const assay_case c = sample_case(s);
    const assay_status status = assay_case_signature(&c, &part);
    if (status != ASSAY_OK)
        return status;
    for (; wanted == s->rows && s->count < wanted; ++s->count)
        s->home[s->count] = s->count;
    add_row(s, half, 0);
    add_row(s, half, s->rows - 1);
    for (int32_t i = 0; i < part.n_in; ++i)
        add_crossings(s, half, &s->sig.in[i], &part.in[i]);
    for (int32_t o = 0; o < part.n_out; ++o)
        add_crossings(s, half, &s->sig.out[o], &part.out[o]);
    for (int32_t v = 0; v < t->count; ++v)
        for (const int32_t *tile = t->run[v].variant->tiles; tile && *tile != 0; ++tile)
            add_borders(s, half, *tile);
    add_borders(s, half, GRID);
    assay_signature_clear(&part);
    draw_rows(s, wanted);
    return ASSAY_OK;
}

/* ---- life ---- */

static assay_status check_case(const assay_case *c, int64_t count) {
    const char *op = c->op->name;
    if (!c->op->by_rows)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: the rows of its results depend on each other; check it "
                          "without --rows",
                          op);
    if (c->params.item[0].count != 1)
        return assay_fail(ASSAY_ERR_USAGE, "%s: --rows needs one number for %s, as in %s=1000", op,
                          c->params.item[0].name, c->params.item[0].name);
    if (c->fill == ASSAY_FILL_INF || c->fill == ASSAY_FILL_NAN || c->fill == ASSAY_FILL_GOLDEN)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: --rows cannot use fill=%s, whose data concern one element or "
                          "come from a file",
                          op, assay_fill_name(c->fill));
    if (c->fill == ASSAY_FILL_SINGLE)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: --rows has no data of fill=single: rows that are repeated make sums "
                          "of many terms; use fill=exact",
                          op);
    if (count < 1 || count > SAMPLE_MOST_ROWS)
        return assay_fail(ASSAY_ERR_USAGE, "--rows %" PRId64 ": must be a number in 1..%d", count,
                          SAMPLE_MOST_ROWS);
    return ASSAY_OK;
}

assay_status sample_init(sample *s, const assay_case *whole, int64_t count, const variant_runs *t) {
    *s = (sample){.whole = *whole};
    assay_status status = check_case(whole, count);
    if (status != ASSAY_OK)
        return status;
    s->rows = whole->params.item[0].value[0];
    s->home = calloc((size_t)count, sizeof *s->home);
    if (!s->home)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %" PRId64 " rows", count);
    status = assay_case_signature(whole, &s->sig);
    if (status == ASSAY_OK)
        status = choose_rows(s, count, t);
    if (status != ASSAY_OK)
        sample_clear(s);
    return status;
}
