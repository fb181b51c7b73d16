/*
 * Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988): rational approximations of the
 * normal quantile in three regions, each accurate to about 1e-16.
 *
 * Only + - * / and sqrt, which IEEE 754 rounds correctly, and no contraction: every compiler and
 * libm gives the same bits.
 */
#include "core/normal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { DEGREE = 7 };

/* Coefficients from the highest power down; p and q are numerator and denominator. */
typedef struct rational {
    double p[DEGREE + 1], q[DEGREE + 1];
} rational;

/* |u - 1/2| <= 0.425 */
static const rational central = {
    {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
     4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
     1.3314166789178437745e+2, 3.3871328727963666080e+0},
    {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
     2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
     4.2313330701600911252e+1, 1.0},
};
/* further out, while sqrt(-log(tail)) <= 5 */
static const rational shoulder = {
    {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
     1.27045825245236838258e+0, 3.64784832476320460504e+0, 5.76949722146069140550e+0,
     4.63033784615654529590e+0, 1.42343711074968357734e+0},
    {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
     1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e+0,
     2.05319162663775882187e+0, 1.0},
};
/* tails below exp(-25) */
static const rational tail = {
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
     2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e+0,
     5.46378491116411436990e+0, 6.65790464350110377720e+0},
    {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
     7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
     5.99832206555887937690e-1, 1.0},
};

static double horner(const double c[DEGREE + 1], double x) {
    double sum = c[0];
    for (int i = 1; i <= DEGREE; ++i)
        sum = sum * x + c[i];
    return sum;
}

/* scale p(x) / q(x), in the paper's order */
static double evaluate(const rational *r, double scale, double x) {
    return scale * horner(r->p, x) / horner(r->q, x);
}

/*
 * log(x) of a positive normal number. x = m 2^e with m in [sqrt(1/2), sqrt(2)) and
 * log m = 2 atanh(s) = 2s + 2s (s²/3 + s⁴/5 + ...), s = (m - 1) / (m + 1), s² < 0.0295:
 * eleven terms reach 2^-56. log 2 comes in two parts, of which e times the first is exact.
 */
static double natural_log(double x) {
    enum { TERMS = 11 };
    static const double log2_high = 0x1.62e42feep-1, log2_low = 0x1.a39ef35793c76p-33;
    static const uint64_t sqrt_half = UINT64_C(0x3fe6a09e667f3bcd), one = UINT64_C(1) << 52;

    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t e = (int64_t)(bits - sqrt_half) >> 52;
    bits -= (uint64_t)e * one;
    double m;
    memcpy(&m, &bits, sizeof m);

    const double s = (m - 1) / (m + 1), s2 = s * s;
    double series = 0;
    for (int k = TERMS; k >= 1; --k)
        series = (series + 1.0 / (2 * k + 1)) * s2;
    const double exponent = (double)e;
    return exponent * log2_high + (2 * s + (2 * s * series + exponent * log2_low));
}

double assay_normal_quantile(double p) {
    const double q = p - 0.5;
    if (fabs(q) <= 0.425)
        return evaluate(&central, q, 0.180625 - q * q);
    const double sign = q < 0 ? -1 : 1;
    const double r = sqrt(-natural_log(q < 0 ? p : 1 - p));
    return r <= 5 ? evaluate(&shoulder, sign, r - 1.6) : evaluate(&tail, sign, r - 5);
}
