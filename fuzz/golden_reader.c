/*
 * The reader of golden files: of any bytes it gives a line that says what is wrong, or cases whose
 * data a kernel of their dtype may be given.
 */
#include "assay/golden.h"
#include "fuzz/fuzz.h"

#include <string.h>

/* The tensors that have data have all of it. */
static void expect_sizes(const assay_arrays *arrays, const assay_tensor_spec *specs,
                         int32_t count) {
    FUZZ_EXPECT(arrays->count == count);
    for (int32_t i = 0; i < count; ++i)
        FUZZ_EXPECT(arrays->data[i] == NULL || arrays->size[i] == assay_spec_count(&specs[i]));
}

static void expect_values(const assay_arrays *arrays, const assay_tensor_spec *specs) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] != NULL && e < arrays->size[i]; ++e)
            FUZZ_EXPECT(assay_dtype_round(specs[i].dtype, arrays->data[i][e]) ==
                        arrays->data[i][e]);
}

static void expect_sane(const assay_golden *g) {
    const assay_problem *p = &g->problem;
    expect_sizes(&p->in, p->sig.in, p->sig.n_in);
    expect_sizes(&p->cot, p->sig.out, p->sig.n_out);
    expect_sizes(&g->want.out, p->sig.out, p->sig.n_out);
    expect_sizes(&g->want.grad, p->sig.in, p->sig.n_in);
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        FUZZ_EXPECT(p->in.data[i] != NULL);
    expect_values(&p->in, p->sig.in);
    expect_values(&p->cot, p->sig.out);
    FUZZ_EXPECT(memchr(g->source, '\0', sizeof g->source) != NULL);
}

static assay_status visit(const char *text, const char *source, bool foreign, void *context) {
    assay_golden golden;
    assay_case c;
    (void)foreign;
    FUZZ_EXPECT(strlen(source) < ASSAY_GOLDEN_SOURCE);
    FUZZ_EXPECT(assay_case_parse(text, &c) == ASSAY_OK);
    if (assay_golden_read(context, &c, &golden) != ASSAY_OK) {
        fuzz_expect_line();
        return ASSAY_OK;
    }
    expect_sane(&golden);
    assay_golden_clear(&golden);
    return ASSAY_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(data, size);
    fuzz_hasten_hdf5();
    if (assay_golden_visit(path, visit, (void *)path) != ASSAY_OK)
        fuzz_expect_line();
    return 0;
}
