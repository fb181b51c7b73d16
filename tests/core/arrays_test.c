#include "assay/op.h"
#include "assay/relation.h"
#include "tests/shim/assay_test.h"

ASSAY_TEST(arrays, add_drop_clear, "unit") {
    assay_arrays a;
    REQUIRE_OK(assay_arrays_init(&a, 3));
    CHECK(a.count == 3 && a.data[0] == NULL && a.size[0] == 0);
    REQUIRE_OK(assay_arrays_add(&a, 0, 5));
    REQUIRE_OK(assay_arrays_add(&a, 2, 0));
    for (int i = 0; i < 5; ++i)
        CHECK(a.data[0][i] == 0);
    CHECK(a.size[0] == 5);
    CHECK(a.data[1] == NULL);
    CHECK(a.data[2] != NULL && a.size[2] == 0); /* empty, yet present */
    assay_arrays_drop(&a, 0);
    CHECK(a.data[0] == NULL && a.size[0] == 0);
    assay_arrays_clear(&a);
    CHECK(a.count == 0 && a.data == NULL);
    assay_arrays_clear(&a);
    REQUIRE_OK(assay_arrays_init(&a, 0));
    assay_arrays_clear(&a);
}

ASSAY_TEST(arrays, too_large_is_an_error_that_says_how_large, "unit") {
    assay_arrays a;
    REQUIRE_OK(assay_arrays_init(&a, 1));
    CHECK_FAILS(assay_arrays_add(&a, 0, INT64_C(1) << 50), ASSAY_ERR_MEMORY, "needs 8.39e+06 GiB");
    CHECK_FAILS(assay_arrays_add(&a, 0, INT64_MAX), ASSAY_ERR_MEMORY, "GiB");
    /* 2^61 elements of 8 bytes are 0 modulo 2^64. */
    CHECK_FAILS(assay_arrays_add(&a, 0, INT64_C(1) << 61), ASSAY_ERR_MEMORY, "GiB");
    CHECK(a.data[0] == NULL && a.size[0] == 0);
    assay_arrays_clear(&a);
}

ASSAY_TEST(arrays, spec_count_saturates, "unit") {
    assay_tensor_spec s = {.rank = 0};
    CHECK(assay_spec_count(&s) == 1);
    s = (assay_tensor_spec){.rank = 3, .shape = {2, 3, 5}};
    CHECK(assay_spec_count(&s) == 30);
    s.shape[1] = INT64_C(1) << 62;
    CHECK(assay_spec_count(&s) == INT64_MAX);
    s.shape[2] = 0;
    CHECK(assay_spec_count(&s) == 0);
}

ASSAY_TEST(arrays, signature_is_zeroed, "unit") {
    assay_signature sig;
    REQUIRE_OK(assay_signature_init(&sig, 2, 1));
    CHECK(sig.n_in == 2 && sig.n_out == 1 && sig.out[0].rank == 0 && sig.in[1].name[0] == '\0');
    assay_signature_clear(&sig);
    CHECK(sig.in == NULL && sig.n_in == 0);
}
