/* The special function unit against an H200 (sfu.h). sfu_all.c compares all inputs. */
#include "tests/shim/assay_test.h"
#include "tests/sim/sfu.h"

#include <math.h>
#include <string.h>

ASSAY_TEST(sfu, inputs_of_every_exponent_have_the_bits_of_an_H200, "unit sim") {
    for (int32_t i = 0; i < n_sfu_checksums; ++i) {
        const sfu_checksum *c = &sfu_checksums[i];
        CHECK_MSG(sfu_of_samples(c) == c->samples, "%s differs: 0x%016llx", c->instruction,
                  (unsigned long long)sfu_of_samples(c));
    }
}

static float of(uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* The checksums would not notice a table that was exchanged together with them. */
ASSAY_TEST(sfu, results_are_near_the_functions, "unit sim") {
    static const struct {
        sfu_function function;
        double (*exact)(double), relative, absolute;
    } functions[] = {
        {SFU_EX2, exp2, 0x1p-22, 0},  {SFU_LG2, log2, 0x1p-22, 0x1p-22},
        {SFU_SQRT, sqrt, 0x1p-22, 0}, {SFU_SIN, sin, 0, 0x1p-20},
        {SFU_COS, cos, 0, 0x1p-20},   {SFU_TANH, tanh, 0x1p-10, 0},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i)
        for (uint32_t x = 0x3c000000; x < 0x40400000; x += 1237) {
            const double want = functions[i].exact((double)of(x));
            const double got = (double)of(sfu_f32(functions[i].function, x, false));
            CHECK_MSG(
                fabs(got - want) <= functions[i].relative * fabs(want) + functions[i].absolute,
                "function %d of 0x%08x: %.9g, not %.9g", (int)functions[i].function, x, got, want);
        }
}
