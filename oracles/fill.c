#include "oracles/fill.h"

#include <math.h>

static const double sqrt_3 = 0x1.bb67ae8584caap0;

bool assay_fill_has_exact(const assay_tensor_spec *spec) {
    return spec->exact_limit >= 1;
}

/* How many odd magnitudes fill=exact chooses from. Integers below 2^p are exact in the dtype. */
static uint64_t odd_magnitudes(const assay_tensor_spec *spec) {
    const double held = ldexp(1, assay_dtype_significand(spec->dtype)) - 1;
    const double limit = spec->exact_limit < held ? spec->exact_limit : held;
    return ((uint64_t)limit + 1) / 2;
}

static double odd_integer(uint64_t bits, uint64_t magnitudes) {
    const uint64_t k = (uint64_t)(((unsigned __int128)(bits >> 1) * magnitudes) >> 63);
    const double magnitude = (double)(2 * k + 1);
    return (bits & 1) != 0 ? -magnitude : magnitude;
}

void assay_fill_array(assay_fill fill, const char *name, const assay_tensor_spec *spec,
                      double scale, uint64_t seed, double *data, int64_t count) {
    const uint64_t stream = assay_rng_stream(name);
    const uint64_t magnitudes = fill == ASSAY_FILL_EXACT ? odd_magnitudes(spec) : 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint64_t index = (uint64_t)i;
        double value = 0;
        switch (fill) {
        case ASSAY_FILL_NORMAL:
        case ASSAY_FILL_INF:
        case ASSAY_FILL_NAN:
        case ASSAY_FILL_HUGE:
        case ASSAY_FILL_NEGATIVE:
        case ASSAY_FILL_INITIAL:
            value = scale * assay_rng_normal(seed, stream, index);
            break;
        case ASSAY_FILL_UNIFORM:
            value = scale * sqrt_3 * (2 * assay_rng_uniform(seed, stream, index) - 1);
            break;
        case ASSAY_FILL_POSITIVE:
            value = scale * sqrt_3 * assay_rng_uniform(seed, stream, index);
            break;
        case ASSAY_FILL_EXACT:
            value = odd_integer(assay_rng_bits(seed, stream, index), magnitudes);
            break;
        case ASSAY_FILL_GOLDEN:
            break;
        }
        data[i] = assay_dtype_round(spec->dtype, value);
    }
}
