#include "tests/sim/sfu_fit.h"

#include "sim/sfu/interpolate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MANTISSA = 23, BIAS = 127, SEGMENT = 17, ONE_C0 = 1 << 15, SAMPLE = 251 };

const sfu_fit_table sfu_fit_tables[SFU_FIT_TABLES] = {
    {"rcp", "rcp.approx.ftz.f32", SFU_RCP, 128, 2, 1, sfu_rcp_segments},
    {"rsqrt", "rsqrt.approx.ftz.f32", SFU_RSQRT, 128, 1, 1, sfu_rsqrt_segments},
    {"sqrt", "sqrt.approx.ftz.f32", SFU_SQRT, 128, 1, 1, sfu_sqrt_segments},
    {"ex2", "ex2.approx.ftz.f32", SFU_EX2, 64, 1, 1, sfu_ex2_segments},
    {"lg2", "lg2.approx.ftz.f32", SFU_LG2, 64, 1, 2, sfu_lg2_segments},
    {"sin", "sin.approx.ftz.f32", SFU_SIN, 64, 1, 1, sfu_sin_segments},
    {"tanh", "tanh.approx.f32", SFU_TANH, 51, 1, 1, sfu_tanh_segments},
};

/* lo <= c0 2^15 + c1 x + 4 c2 square <= hi. */
typedef struct interval {
    int64_t x, square, lo, hi;
} interval;

int32_t sfu_fit_points(const sfu_fit_table *t) {
    return (1 << SEGMENT) / t->step * t->sides;
}

/* ---- inputs */

/* The smallest number that is `turn` 2^-25 turns, as the unit reckons them. */
static uint32_t of_turn(uint32_t turn) {
    const uint64_t reciprocal = 0xa2f983; /* of 2 pi, 2^-26 of this */
    int32_t e;
    uint64_t m;
    if (turn == 0)
        return 0;
    const double x = frexp(2.0 * turn / (double)reciprocal, &e); /* in [1/2, 1) */
    for (m = (uint64_t)(x * 0x1p24) - 1; m * reciprocal >> (25 - e) < turn; ++m)
        ;
    if (m >> (MANTISSA + 1) != 0) {
        m >>= 1;
        ++e;
    }
    return (uint32_t)(e - 1 + BIAS) << MANTISSA | (uint32_t)(m & ((1 << MANTISSA) - 1));
}

static uint32_t of_tanh(int32_t segment, uint32_t x) {
    int32_t b = SFU_TANH_BINADES - 1;
    while (sfu_tanh_binades[b].first > segment)
        --b;
    const uint32_t m = (uint32_t)(segment - sfu_tanh_binades[b].first) << SEGMENT | x;
    return (uint32_t)(BIAS - 8 + b) << MANTISSA | m << sfu_tanh_binades[b].unused;
}

static uint32_t x_of(const sfu_fit_table *t, int32_t point) {
    return (uint32_t)(point / t->sides * t->step);
}

uint32_t sfu_fit_input(const sfu_fit_table *t, int32_t segment, int32_t point) {
    const uint32_t x = x_of(t, point), half = (uint32_t)(point % t->sides);
    const uint32_t all = ((uint32_t)segment << SEGMENT | x) / (uint32_t)t->step;
    switch (t->function) {
    case SFU_SIN:
        return of_turn(all);
    case SFU_TANH:
        return of_tanh(segment, x);
    default: /* [1, 2), and of roots [2, 4) */
        return ((uint32_t)BIAS << MANTISSA) + all - (half << MANTISSA);
    }
}

/* ---- results */

/* The whole numbers n whose n 2^-point is `result` when it is cut to 24 bits; none for a result
 * that is no sum's. */
static void uncut(uint32_t result, int32_t point, int64_t *lo, int64_t *hi) {
    const int32_t shift = (int32_t)(result >> MANTISSA & 255) - BIAS - MANTISSA + point;
    const int64_t m = (result & ((1 << MANTISSA) - 1)) | 1 << MANTISSA;
    const bool zero = (result << 1) == 0, sum = shift >= -MANTISSA && shift <= MANTISSA;
    *lo = zero ? 0 : !sum ? 1 : shift >= 0 ? m << shift : m >> -shift;
    *hi = zero || !sum ? 0 : shift < 0 ? *lo : *lo + ((INT64_C(1) << shift) - 1);
}

/* False where the unit does not interpolate: 1 and a sine's 0. */
static bool interval_of(const sfu_fit_table *t, int32_t segment, int32_t point, uint32_t result,
                        interval *of) {
    const int64_t one = INT64_C(1) << SFU_POINT;
    const int32_t dropped = SFU_POINT - SFU_LG2_POINT;
    const bool half = point % t->sides != 0;
    int64_t lo, hi, added = 0;
    uncut(result, t->function == SFU_LG2 ? SFU_LG2_POINT : SFU_POINT - (t->function == SFU_EX2),
          &lo, &hi);
    switch (t->function) {
    case SFU_RCP:
        added = SFU_RCP_ROUNDING;
        break;
    case SFU_RSQRT:
    case SFU_SQRT:
        added = SFU_ROOT_ROUNDING;
        break;
    case SFU_EX2:
        added = one + SFU_EX2_ROUNDING;
        break;
    case SFU_LG2:
        lo = lo << dropped;
        hi = (hi << dropped) + (1 << dropped) - 1;
        if (half) {
            const int64_t least = ~hi;
            hi = ~lo;
            lo = least;
        }
        added = SFU_LG2_ROUNDING - (half ? one : 0);
        break;
    default:
        break;
    }
    const uint32_t x = x_of(t, point);
    *of = (interval){x, sfu_square(x), lo - added, hi - added};
    const bool special =
        t->function == SFU_RSQRT || t->function == SFU_LG2 || t->function == SFU_SIN;
    return !(special && segment == 0 && x == 0 && !half);
}

/* ---- coefficients */

/* How many c0 fit every stride-th point, and the smallest. */
static int32_t find_c0(const interval *points, int32_t n, int32_t stride, int64_t c1, int64_t c2,
                       int64_t *c0) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    for (int32_t i = 0; i < n; i += stride) {
        const int64_t rest = c1 * points[i].x + 4 * c2 * points[i].square;
        lo = points[i].lo - rest > lo ? points[i].lo - rest : lo;
        hi = points[i].hi - rest < hi ? points[i].hi - rest : hi;
    }
    *c0 = lo / ONE_C0;
    while (*c0 * ONE_C0 < lo)
        ++*c0;
    int32_t count = 0;
    while ((*c0 + count) * ONE_C0 <= hi)
        ++count;
    return count;
}

static double middle(const interval *p) {
    return (double)p->lo + (double)(p->hi - p->lo) / 2;
}

/* The quadratic through three points. An interval is 2^18 wide at most, so each is off by 2^17:
 * then c2 is off by 12 at most, and c1 by 4 when c2 is known. */
static void estimate(const interval *points, int32_t n, double *slope, double *bend, double *c2) {
    const interval *a = points, *b = points + n / 2, *c = points + n - 1;
    const double near = (middle(b) - middle(a)) / (double)(b->x - a->x);
    const double far = (middle(c) - middle(a)) / (double)(c->x - a->x);
    const double near_bend = 4 * (double)(b->square - a->square) / (double)(b->x - a->x);
    const double far_bend = 4 * (double)(c->square - a->square) / (double)(c->x - a->x);
    *c2 = (far - near) / (far_bend - near_bend);
    *slope = near;
    *bend = near_bend;
}

int32_t sfu_fit(const sfu_fit_table *t, int32_t segment, const uint32_t *results,
                sfu_segment *fit) {
    int32_t n = 0, sets = 0;
    double slope, bend, about;
    interval *points = malloc((size_t)sfu_fit_points(t) * sizeof *points);
    if (points == NULL)
        return 0;
    for (int32_t i = 0; i < sfu_fit_points(t); ++i)
        n += interval_of(t, segment, i, results[i], &points[n]);
    estimate(points, n, &slope, &bend, &about);
    for (int64_t c2 = (int64_t)about - 13; (double)c2 <= about + 13; ++c2) {
        const double line = slope - bend * (double)c2;
        for (int64_t c1 = (int64_t)line - 5, c0; (double)c1 <= line + 5; ++c1)
            if (find_c0(points, n, SAMPLE, c1, c2, &c0) > 0) {
                const int32_t more = find_c0(points, n, 1, c1, c2, &c0);
                if (sets == 0 && more > 0)
                    *fit = (sfu_segment){(int32_t)c0, (int32_t)c1, (int32_t)c2};
                sets += more;
            }
    }
    free(points);
    return sets;
}
