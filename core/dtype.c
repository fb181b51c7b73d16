/*
 * The element types and the exact rounding between them, done on the bit patterns, so that
 * neither the host's rounding mode nor a rounding through a third type can change a result.
 */
#include "assay/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct format {
    const char *name;
    size_t size;
    int significand; /* p, the hidden bit counted */
    int bias;        /* of the exponent; also the largest exponent */
    double unit, denorm_min, max;
} format;

static const format formats[] = {
    [ASSAY_F64] = {"f64", 8, 53, 1023, 0x1p-53, 0x1p-1074, DBL_MAX},
    [ASSAY_F32] = {"f32", 4, 24, 127, 0x1p-24, 0x1p-149, 0x1.fffffep127},
    [ASSAY_BF16] = {"bf16", 2, 8, 127, 0x1p-8, 0x1p-133, 0x1.fep127},
    [ASSAY_F16] = {"f16", 2, 11, 15, 0x1p-11, 0x1p-24, 0x1.ffcp15},
    [ASSAY_I32] = {"i32", 4, 0, 0, 0, 0, INT32_MAX},
};

enum { F64_FRACTION = 52, F64_BIAS = 1023, F64_SPECIAL = 0x7ff };

size_t assay_dtype_size(assay_dtype dtype) {
    return formats[dtype].size;
}

const char *assay_dtype_name(assay_dtype dtype) {
    return formats[dtype].name;
}

int assay_dtype_significand(assay_dtype dtype) {
    return formats[dtype].significand;
}

double assay_dtype_unit(assay_dtype dtype) {
    return formats[dtype].unit;
}

double assay_dtype_denorm_min(assay_dtype dtype) {
    return formats[dtype].denorm_min;
}

double assay_dtype_max(assay_dtype dtype) {
    return formats[dtype].max;
}

bool assay_dtype_parse(const char *name, size_t n, assay_dtype *dtype) {
    for (int i = 0; i < ASSAY_DTYPES; ++i) {
        if (strlen(formats[i].name) == n && memcmp(formats[i].name, name, n) == 0) {
            *dtype = (assay_dtype)i;
            return true;
        }
    }
    return false;
}

static uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double f64_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* m / 2^cut, rounded to nearest, ties to even; m < 2^53, cut >= 1. */
static uint32_t shift_nearest_even(uint64_t m, int cut) {
    if (cut > 53)
        return 0; /* below one half */
    uint64_t quotient = m >> cut;
    uint64_t rest = m & ((UINT64_C(1) << cut) - 1);
    uint64_t half = UINT64_C(1) << (cut - 1);
    if (rest > half || (rest == half && (quotient & 1) != 0))
        ++quotient;
    return (uint32_t)quotient;
}

/* The pattern of `value` in a format narrower than fp64. */
static uint32_t encode(const format *f, double value) {
    const uint64_t bits = f64_bits(value);
    const uint64_t fraction = bits & ((UINT64_C(1) << F64_FRACTION) - 1);
    const int exponent = (int)(bits >> F64_FRACTION) & F64_SPECIAL;
    const int fraction_bits = f->significand - 1;
    const uint32_t sign = (uint32_t)(bits >> 63) << (8 * f->size - 1);
    const uint32_t infinity = (uint32_t)(2 * f->bias + 1) << fraction_bits;

    if (exponent == F64_SPECIAL && fraction != 0) {
        uint32_t payload = (uint32_t)(fraction >> (F64_FRACTION - fraction_bits));
        uint32_t quiet = UINT32_C(1) << (fraction_bits - 1);
        return sign | infinity | (payload != 0 ? payload : quiet);
    }
    if (exponent == 0) /* fp64's subnormals are less than half of any other's smallest */
        return sign;

    const int biased = exponent - F64_BIAS + f->bias;
    if (biased > 2 * f->bias)
        return sign | infinity;

    /* A subnormal result has the exponent of the smallest normal and loses more bits instead. The
     * carry of the rounding runs into the exponent field, up to infinity, as it should. */
    const int kept = biased > 1 ? biased : 1;
    const uint64_t significand = fraction | (UINT64_C(1) << F64_FRACTION);
    const uint32_t rounded =
        shift_nearest_even(significand, F64_FRACTION - fraction_bits + (kept - biased));
    return sign | (((uint32_t)(kept - 1) << fraction_bits) + rounded);
}

static double decode(const format *f, uint32_t pattern) {
    const int fraction_bits = f->significand - 1;
    const uint32_t fraction = pattern & ((UINT32_C(1) << fraction_bits) - 1);
    const int biased = (int)(pattern >> fraction_bits) & (2 * f->bias + 1);
    const uint64_t sign = (uint64_t)(pattern >> (8 * f->size - 1)) << 63;

    if (biased == 0)
        return f64_from_bits(sign | f64_bits(fraction * f->denorm_min));
    const int exponent = biased == 2 * f->bias + 1 ? F64_SPECIAL : biased - f->bias + F64_BIAS;
    return f64_from_bits(sign | (uint64_t)exponent << F64_FRACTION |
                         (uint64_t)fraction << (F64_FRACTION - fraction_bits));
}

static int32_t to_i32(double value) {
    if (isnan(value))
        return 0;
    return (int32_t)fmin(fmax(rint(value), INT32_MIN), INT32_MAX);
}

double assay_dtype_round(assay_dtype dtype, double value) {
    if (dtype == ASSAY_F64)
        return value;
    if (dtype == ASSAY_I32)
        return to_i32(value);
    return decode(&formats[dtype], encode(&formats[dtype], value));
}

void assay_dtype_widen(assay_dtype dtype, const void *from, double *to, int64_t count) {
    const format *f = &formats[dtype];
    if (count <= 0)
        return;
    switch (f->size) {
    case 8:
        memcpy(to, from, (size_t)count * sizeof *to);
        return;
    case 4:
        for (int64_t i = 0; i < count; ++i) {
            uint32_t pattern;
            memcpy(&pattern, (const char *)from + 4 * i, sizeof pattern);
            to[i] = dtype == ASSAY_I32 ? (double)(int32_t)pattern : decode(f, pattern);
        }
        return;
    default:
        for (int64_t i = 0; i < count; ++i) {
            uint16_t pattern;
            memcpy(&pattern, (const char *)from + 2 * i, sizeof pattern);
            to[i] = decode(f, pattern);
        }
    }
}

void assay_dtype_narrow(assay_dtype dtype, const double *from, void *to, int64_t count) {
    const format *f = &formats[dtype];
    if (count <= 0)
        return;
    switch (f->size) {
    case 8:
        memcpy(to, from, (size_t)count * sizeof *from);
        return;
    case 4:
        for (int64_t i = 0; i < count; ++i) {
            const uint32_t pattern =
                dtype == ASSAY_I32 ? (uint32_t)to_i32(from[i]) : encode(f, from[i]);
            memcpy((char *)to + 4 * i, &pattern, sizeof pattern);
        }
        return;
    default:
        for (int64_t i = 0; i < count; ++i) {
            uint16_t pattern = (uint16_t)encode(f, from[i]);
            memcpy((char *)to + 2 * i, &pattern, sizeof pattern);
        }
    }
}
