/*
 * The readers of .npz and safetensors, `assay run --in` and `assay judge --got`: of any bytes they
 * give a line that says what is wrong, or tensors whose values a kernel of their dtype may be given
 * or give. Checksums would keep a fuzzer out: those of an archive are made right first.
 */
#include "assay/state.h"
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

/* Indices and magnitudes among its inputs, and a cotangent. */
static const char text[] = "cross_entropy t=3 v=5 gradient=1 dtype=bf16 seed=0";

enum { MOST = 1 << 16, LOCAL = 30, CENTRAL = 46 };

static uint64_t number(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* What the line of a directory at `line` says of a stored member, made true. */
static void mend(uint8_t *bytes, size_t size, size_t line) {
    const uint64_t at = number(bytes + line + 42, 4), length = number(bytes + line + 24, 4);
    if (at > size || size - at < LOCAL)
        return;
    const uint64_t start = at + LOCAL + number(bytes + at + 26, 2) + number(bytes + at + 28, 2);
    if (start > size || length > size - start)
        return;
    const uint32_t sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes + start, (z_size_t)length);
    for (int i = 0; i < 4; ++i)
        bytes[line + 16 + (size_t)i] = (uint8_t)(sum >> 8 * i);
}

static void expect_values(const assay_arrays *arrays, const assay_tensor_spec *specs) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] != NULL && e < arrays->size[i]; ++e) {
            const double v = arrays->data[i][e];
            FUZZ_EXPECT(isnan(v) || assay_dtype_round(specs[i].dtype, v) == v);
            FUZZ_EXPECT(specs[i].dtype != ASSAY_I32 || (v >= 0 && v < (double)specs[i].indices));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t bytes[MOST];
    assay_problem problem;
    assay_results got;
    assay_case c;
    int32_t taken;
    if (size > MOST || (size > 3 && memcmp(data, "\x89HDF", 4) == 0))
        return 0; /* HDF5 has a target of its own */
    memcpy(bytes, data, size);
    for (size_t i = 0; size >= CENTRAL && i <= size - CENTRAL; ++i)
        if (memcmp(bytes + i, "PK\1\2", 4) == 0)
            mend(bytes, size, i);
    const char *path = fuzz_file(bytes, size);
    FUZZ_EXPECT(assay_case_parse(text, &c) == ASSAY_OK);
    FUZZ_EXPECT(assay_problem_init(&problem, &c) == ASSAY_OK);
    FUZZ_EXPECT(assay_results_init(&got, &problem.sig) == ASSAY_OK);
    if (assay_state_read_results(path, &problem, &got) == ASSAY_OK) {
        expect_values(&got.out, problem.sig.out);
        expect_values(&got.grad, problem.sig.in);
    } else {
        fuzz_expect_line();
    }
    if (assay_state_read(path, &problem, &taken) == ASSAY_OK) {
        FUZZ_EXPECT(taken > 0);
        expect_values(&problem.in, problem.sig.in);
        expect_values(&problem.cot, problem.sig.out);
    } else {
        fuzz_expect_line();
    }
    assay_results_clear(&got);
    assay_problem_clear(&problem);
    return 0;
}
