#include "sim/texture_filter.h"

#include <float.h>
#include <math.h>

enum {
    HELD = 24 + 4,    /* bits of an element that count, from the largest exponent of a plane on */
    BETWEEN = 2,      /* bits that a plane's sum has below those when it meets the other's */
    NOTHING = -10000, /* the exponent of a sum of zeros */
    PLANE = 4,
};

static int32_t share(int32_t weight, int32_t part, int32_t tie) {
    return (weight * part + FILTER_ONE / 2 - 1 + tie) / FILTER_ONE;
}

void filter_weights(const int32_t fraction[3], int32_t weight[FILTER_CORNERS]) {
    const int32_t x = fraction[0], y = fraction[1], z = fraction[2];
    for (int32_t corner = 0; corner < FILTER_CORNERS; ++corner) {
        const int32_t right = corner & 1, depth = corner >> 2 != 0 ? z : FILTER_ONE - z;
        const int32_t of_right = share(depth, x, 1), quarter = right ? of_right : depth - of_right;
        const int32_t lower = share(quarter, y, right);
        weight[corner] = (corner >> 1 & 1) != 0 ? lower : quarter - lower;
    }
}

/* value * 2^(exponent - HELD) / FILTER_ONE */
typedef struct plane_sum {
    int64_t value;
    int exponent;
} plane_sum;

/* Elements are aligned to the largest of them and cut, then multiplied and added exactly. */
static plane_sum weigh(const float texel[PLANE], const int32_t weight[PLANE]) {
    plane_sum sum = {0, NOTHING};
    for (int32_t i = 0; i < PLANE; ++i)
        if (weight[i] != 0 && texel[i] != 0)
            sum.exponent =
                sum.exponent > ilogbf(texel[i]) + 1 ? sum.exponent : ilogbf(texel[i]) + 1;
    for (int32_t i = 0; i < PLANE && sum.exponent != NOTHING; ++i)
        sum.value += weight[i] * (int64_t)ldexp((double)texel[i], HELD - sum.exponent);
    return sum;
}

/*
 * The sum of weighted elements, finite ones, as an H200 has it: of one and of two dimensions all of
 * 524,288 with four classes of numbers, up to 250 binades apart; of three all where elements have
 * one exponent, and all but one in 800 where they are up to 40 binades apart. Subnormal sums are
 * zero.
 */
static float filtered(const float texel[FILTER_CORNERS], const int32_t weight[FILTER_CORNERS]) {
    const plane_sum near = weigh(texel, weight), far = weigh(texel + PLANE, weight + PLANE);
    const int exponent = near.exponent > far.exponent ? near.exponent : far.exponent;
    if (exponent == NOTHING)
        return 0;
    const double sum = floor(ldexp((double)near.value, near.exponent - exponent + BETWEEN)) +
                       floor(ldexp((double)far.value, far.exponent - exponent + BETWEEN));
    int leading;
    const double digits = round(ldexp(frexp(sum, &leading), FLT_MANT_DIG));
    const float result =
        (float)(ldexp(digits, leading - FLT_MANT_DIG + exponent - HELD - BETWEEN) / FILTER_ONE);
    return fabsf(result) < FLT_MIN ? copysignf(0, result) : result;
}

float filter_mean(const float texel[FILTER_CORNERS], const int32_t weight[FILTER_CORNERS]) {
    float special = 0;
    for (int32_t i = 0; i < FILTER_CORNERS; ++i)
        if (weight[i] != 0 && !isfinite(texel[i]))
            special += texel[i];
    return isfinite(special) ? filtered(texel, weight) : special;
}
