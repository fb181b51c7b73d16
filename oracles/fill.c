#include "oracles/fill.h"

#include "assay/parallel.h"

#include <math.h>

static const double sqrt_3 = 0x1.bb67ae8584caap0;

bool assay_fill_has_exact(const assay_tensor_spec *spec) {
    return spec->exact_limit >= 1 || spec->dtype == ASSAY_I32;
}

/* How many odd magnitudes fill=exact chooses from. Integers below 2^p are exact in the dtype. */
static uint64_t odd_magnitudes(const assay_tensor_spec *spec) {
    const double held = ldexp(1, assay_dtype_significand(spec->dtype)) - 1;
    const double limit = spec->exact_limit < held ? spec->exact_limit : held;
    return ((uint64_t)limit + 1) / 2;
}

/* In 0..count-1, for bits below 2^63. */
static uint64_t scaled(uint64_t bits, uint64_t count) {
    return (uint64_t)(((unsigned __int128)bits * count) >> 63);
}

static double odd_integer(uint64_t bits, uint64_t magnitudes) {
    const uint64_t k = scaled(bits >> 1, magnitudes);
    const double magnitude = (double)(2 * k + 1);
    return (bits & 1) != 0 ? -magnitude : magnitude;
}

typedef struct array {
    assay_fill fill;
    assay_dtype dtype;
    double scale;
    uint64_t seed, stream, magnitudes;
    int64_t indices;
    bool magnitudes_only;
    double *data;
} array;

static double value_at(const array *a, uint64_t index) {
    if (a->dtype == ASSAY_I32)
        return (double)scaled(assay_rng_bits(a->seed, a->stream, index) >> 1, (uint64_t)a->indices);
    switch (a->fill) {
    case ASSAY_FILL_UNIFORM:
        return a->scale * sqrt_3 * (2 * assay_rng_uniform(a->seed, a->stream, index) - 1);
    case ASSAY_FILL_POSITIVE:
        return a->scale * sqrt_3 * assay_rng_uniform(a->seed, a->stream, index);
    case ASSAY_FILL_EXACT:
        return odd_integer(assay_rng_bits(a->seed, a->stream, index), a->magnitudes);
    case ASSAY_FILL_NORMAL:
    case ASSAY_FILL_INF:
    case ASSAY_FILL_NAN:
    case ASSAY_FILL_HUGE:
    case ASSAY_FILL_NEGATIVE:
    case ASSAY_FILL_INITIAL:
        return a->scale * assay_rng_normal(a->seed, a->stream, index);
    case ASSAY_FILL_GOLDEN:
        break;
    }
    return 0;
}

static void fill_elements(void *context, int64_t first, int64_t last) {
    const array *a = context;
    for (int64_t i = first; i < last; ++i) {
        const double value = assay_dtype_round(a->dtype, value_at(a, (uint64_t)i));
        a->data[i] = a->magnitudes_only ? fabs(value) : value;
    }
}

void assay_fill_array(assay_fill fill, const char *name, const assay_tensor_spec *spec,
                      double scale, uint64_t seed, double *data, int64_t count) {
    array a = {.fill = fill,
               .dtype = spec->dtype,
               .scale = scale,
               .seed = seed,
               .stream = assay_rng_stream(name),
               .indices = spec->indices,
               .magnitudes_only = spec->magnitudes,
               .magnitudes = fill == ASSAY_FILL_EXACT ? odd_magnitudes(spec) : 0,
               .data = data};
    assay_parallel(count, fill_elements, &a);
}
