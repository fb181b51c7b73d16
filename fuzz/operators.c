/*
 * One operator's variants on the simulated device, for libFuzzer: bytes become a
 * case's extents, attributes, layout, data and schedule, and a variant that is wrong stops the
 * process. ASSAY_FUZZ_OP names the operator; without it the first byte does. Variants run in this
 * process, so that libFuzzer sees their branches, a sanitizer their accesses, and a crash is one.
 *
 * Inputs: a byte for each choice, in the order in which the operator lists its keys; what is
 * missing is 0. An extent is the byte itself below 64, otherwise one of source.h's.
 */
#include "engine/check.h"
#include "fuzz/fuzz.h"
#include "fuzz/search/source.h"

#include <math.h>
#include <string.h>

/* Elements that extents may make together: a millisecond or so. */
static const double largest = 1 << 14;

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static int64_t next(input *in) {
    if (in->size == 0)
        return 0;
    --in->size;
    return *in->data++;
}

static const assay_op *choose_op(input *in) {
    const char *name = getenv("ASSAY_FUZZ_OP");
    const int64_t byte = next(in);
    const assay_op *op = name != NULL ? assay_op_find(name, strlen(name))
                                      : assay_op_at((int32_t)(byte % assay_op_count()));
    FUZZ_EXPECT(op != NULL);
    return op;
}

static int64_t extent_of(const fuzz_source *s, const assay_key *key, input *in) {
    enum { ITSELF = 64 };
    const int64_t byte = next(in);
    const int64_t value = byte < ITSELF ? byte : s->edge[(byte - ITSELF) % s->n_edges];
    return (double)value < key->low    ? (int64_t)key->low
           : (double)value > key->high ? (int64_t)key->high
                                       : value;
}

static void read_key(const fuzz_source *s, const assay_key *key, input *in, assay_param *p) {
    int64_t names = 0;
    switch (key->kind) {
    case ASSAY_KEY_INT:
        p->count = 1;
        p->value[0] = extent_of(s, key, in);
        break;
    case ASSAY_KEY_LIST:
        p->count = (int32_t)(next(in) % 5);
        for (int32_t i = 0; i < p->count; ++i)
            p->value[i] = extent_of(s, key, in);
        break;
    case ASSAY_KEY_NAME:
        while (s->op->names[names] != NULL)
            ++names;
        p->count = 1;
        p->value[0] = next(in) % names;
        break;
    case ASSAY_KEY_REAL:
        p->count = 0;
        p->real = ldexp(1, (int)(next(in) % 20) - 10);
        break;
    }
}

static assay_fill read_fill(const assay_op *op, input *in) {
    const unsigned common = ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
                            ASSAY_FILL_BIT(ASSAY_FILL_POSITIVE) | ASSAY_FILL_BIT(ASSAY_FILL_EXACT);
    const int64_t fill = next(in) % ASSAY_FILLS;
    const bool has = ((common | op->fills) & ASSAY_FILL_BIT(fill)) != 0;
    return has ? (assay_fill)fill : ASSAY_FILL_NORMAL;
}

static double product(const assay_case *c) {
    double all = 1;
    for (int32_t k = 0; k < c->params.count; ++k)
        for (int32_t i = 0; i < c->params.item[k].count; ++i)
            all *= fmax(1, (double)c->params.item[k].value[i]);
    return all;
}

/* Whether the bytes are a case, in canonical form, that takes no longer than others. */
static bool read_case(const fuzz_source *s, input *in, assay_case *c) {
    char text[ASSAY_CASE_TEXT];
    *c = (assay_case){.op = s->op};
    assay_params_init(s->op, &c->params);
    for (int32_t k = 0; k < s->op->n_keys; ++k)
        read_key(s, &s->op->keys[k], in, &c->params.item[k]);
    c->params.dtype = (assay_dtype)(next(in) % ASSAY_DTYPES);
    c->params.math = next(in) % 4 == 3 ? ASSAY_TF32 : ASSAY_STRICT;
    c->fill = read_fill(s->op, in);
    c->pad = next(in) % 16;
    c->misalign = next(in) % 16;
    c->schedule = (assay_schedule)(next(in) % ASSAY_SCHEDULES);
    c->seed = (uint64_t)next(in);
    return product(c) <= largest && assay_case_parse(assay_case_format(c, text), c) == ASSAY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    const assay_device *sim;
    fuzz_source s = {.op = choose_op(&in)};
    assay_case c;
    assay_report report;
    FUZZ_EXPECT(assay_device_open("sim", &sim) == ASSAY_OK);
    fuzz_source_edges(&s, sim, NULL, 0);
    if (!read_case(&s, &in, &c) || assay_check_numbers(&c, sim, NULL, 0, &report) != ASSAY_OK)
        return 0;
    for (int32_t i = 0; i < report.n_rows; ++i) {
        const assay_row *row = &report.rows[i];
        if (row->verdict == ASSAY_FAIL || row->verdict == ASSAY_ERROR)
            fprintf(stderr, "%s\n%s %s: %s\n", row->repro, row->variant, row->tensor, row->reason);
        FUZZ_EXPECT(row->verdict != ASSAY_FAIL && row->verdict != ASSAY_ERROR);
    }
    assay_report_clear(&report);
    return 0;
}
