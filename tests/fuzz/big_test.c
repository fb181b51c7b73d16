/* Cases past 2^31 elements are drawn: just past, within a GPU's memory, and the same ones again. */
#include "fuzz/search/source.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 6 };

/* Elements and bytes of the largest tensor, and the bytes of all with their gradients. */
typedef struct extent {
    double elements, bytes, all;
} extent;

static void add(extent *e, const assay_tensor_spec *specs, int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        const double elements = (double)assay_spec_count(&specs[i]);
        const double bytes = elements * (double)assay_dtype_size(specs[i].dtype);
        e->elements = fmax(e->elements, elements);
        e->bytes = fmax(e->bytes, bytes);
        e->all += 2 * bytes;
    }
}

static extent extent_of(const assay_case *c) {
    assay_signature sig;
    extent e = {0};
    REQUIRE_OK(c->op->signature(&c->params, &sig));
    add(&e, sig.in, sig.n_in);
    add(&e, sig.out, sig.n_out);
    assay_signature_clear(&sig);
    return e;
}

static void check_draw(const fuzz_source *s, int64_t index) {
    assay_case c, same;
    char text[ASSAY_CASE_TEXT], again[ASSAY_CASE_TEXT];
    REQUIRE_OK(fuzz_source_draw(s, index, &c));
    REQUIRE_OK(fuzz_source_draw(s, index, &same));
    assay_case_format(&c, text);
    CHECK(strcmp(text, assay_case_format(&same, again)) == 0);
    REQUIRE_OK(assay_case_parse(text, &same));
    const extent e = extent_of(&c);
    CHECK_MSG(e.elements > 0x1p31 || e.bytes > 0x1p32, "%s is not large", text);
    CHECK_MSG(e.elements < 0x1p32 * 1.25, "%s is far past 2^32", text);
    CHECK_MSG(e.all <= 0x1p37, "%s takes %.0f GiB", text, e.all / 0x1p30);
}

ASSAY_TEST(big, cases_of_every_operator_with_rows, "unit fuzz") {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const fuzz_source s = {
            .op = assay_op_at(i), .seed = 7, .sampled = true, .big = true, .n_edges = 0};
        for (int64_t draw = 0; s.op->by_rows && draw < DRAWS; ++draw)
            check_draw(&s, draw);
    }
}

ASSAY_TEST(big, words_hold_for_them_as_well, "unit fuzz") {
    const char *const words[] = {"d=1024", "dtype=bf16"};
    const fuzz_source s = {.op = assay_op_find("rmsnorm", strlen("rmsnorm")),
                           .sampled = true,
                           .big = true,
                           .fixed = words,
                           .n_fixed = 2};
    assay_case c;
    REQUIRE_OK(fuzz_source_draw(&s, 3, &c));
    CHECK(assay_params_int(&c.params, "d") == 1024 && c.params.dtype == ASSAY_BF16);
    CHECK(assay_params_int(&c.params, "n") >= 1 << 21);
}
