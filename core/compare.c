#include "assay/compare.h"
#include "assay/op.h"

#include "core/norm.h"

#include <math.h>

/* How one element compares. */
typedef struct comparison {
    bool right;
    double error; /* |got - want|; 0 for equal infinities and NaNs, infinite for a NaN mismatch */
    double ratio; /* error / bound, above 1 exactly when wrong */
} comparison;

static const comparison equal = {.right = true};
static const comparison hopeless = {.right = false, .error = INFINITY, .ratio = INFINITY};

/* An infinity for a finite number is right when that number, off by its bound, overflows. Its
 * error is its distance from the largest finite value. */
static comparison compare_overflow(assay_dtype dtype, double got, double want, double bound) {
    const double sign = got > 0 ? 1 : -1;
    if (!(assay_dtype_round(dtype, want + sign * bound) == got))
        return hopeless;
    const double missing = fmax(assay_dtype_max(dtype) - sign * want, 0);
    return (comparison){.right = true, .error = missing, .ratio = missing / bound};
}

static comparison compare_element(assay_dtype dtype, double got, double want, double bound) {
    if ((isnan(got) && isnan(want)) || (isinf(want) && got == want))
        return equal;
    if (isnan(got) || !isfinite(want))
        return hopeless;
    if (isinf(got))
        return bound > 0 ? compare_overflow(dtype, got, want, bound) : hopeless;

    comparison j = {.error = fabs(got - want)};
    j.right = j.error <= bound;
    if (bound > 0)
        j.ratio = isinf(bound) ? 0 : j.error / bound;
    else
        j.ratio = j.right ? 0 : INFINITY;
    return j;
}

/* Whether the oracle has a number without saying how far from it a result may be. */
static bool lacks_bound(double want, double bound) {
    return isfinite(want) && !(bound >= 0 && isfinite(bound));
}

static const char *wrong_reason(const assay_comparison *r) {
    if (isnan(r->got))
        return "NaN where the oracle has a number";
    if (isnan(r->want))
        return "a number where the oracle has NaN";
    return "beyond its bound";
}

/* `nan_too`: elements that may be NaN as well, or NULL. */
static assay_comparison compare(assay_dtype dtype, const double *got, const double *want,
                                const double *bound, const bool *nan_too, int64_t count) {
    assay_comparison r = {.verdict = ASSAY_PASS, .reason = "", .count = count, .worst = -1};
    assay_norms of_got = {0}, of_want = {0}, of_bound = {0}, of_error = {0};
    bool zeros_pass = true;

    for (int64_t i = 0; i < count; ++i) {
        const comparison j = nan_too && nan_too[i] && isnan(got[i])
                                 ? equal
                                 : compare_element(dtype, got[i], want[i], bound[i]);
        r.wrong += !j.right;
        const bool unbounded = lacks_bound(want[i], bound[i]);
        if (r.worst < 0 || (unbounded ? r.unbounded == 0 : r.unbounded == 0 && j.ratio > r.ratio)) {
            r.worst = i;
            r.ratio = j.ratio;
        }
        r.unbounded += unbounded;
        zeros_pass = zeros_pass && compare_element(dtype, 0, want[i], bound[i]).right;
        assay_norms_add(&of_error, j.error);
        assay_norms_add(&of_got, got[i]);
        assay_norms_add(&of_want, want[i]);
        assay_norms_add(&of_bound, bound[i]);
    }

    if (r.worst >= 0) {
        r.got = isnan(got[r.worst]) ? NAN : got[r.worst]; /* a NaN's sign says nothing */
        r.want = want[r.worst];
        r.bound = bound[r.worst];
    }
    r.max_abs = of_error.max;
    r.rel_l1 = assay_norms_ratio_l1(&of_error, &of_want);
    r.rel_l2 = assay_norms_ratio_l2(&of_error, &of_want);
    r.rel_linf = assay_norms_ratio_linf(&of_error, &of_want);
    r.norm_got = assay_norms_l2(&of_got);
    r.norm_want = assay_norms_l2(&of_want);
    r.resolution = assay_norms_ratio_l2(&of_bound, &of_want);

    if (r.unbounded > 0) {
        r.verdict = ASSAY_ERROR;
        r.reason = "a bound is not finite where the oracle's value is";
    } else if (r.wrong > 0) {
        r.verdict = ASSAY_FAIL;
        r.reason = wrong_reason(&r);
    } else if (count <= 0 || zeros_pass) {
        r.verdict = ASSAY_MISTRUSTED;
        r.reason = count <= 0 ? "nothing to compare" : "a result of zeros would pass";
    }
    return r;
}

assay_comparison assay_compare(assay_dtype dtype, const double *got, const double *want,
                               const double *bound, int64_t count) {
    return compare(dtype, got, want, bound, NULL, count);
}

assay_comparison assay_compare_bounded(assay_dtype dtype, const double *got,
                                       const assay_arrays *want, const assay_bounds *bounds,
                                       int32_t i) {
    if (bounds->outside[i][0] == '\0')
        return compare(dtype, got, want->data[i], bounds->element.data[i], bounds->nan_too[i],
                       want->size[i]);
    return (assay_comparison){.verdict = ASSAY_MISTRUSTED,
                              .reason = bounds->outside[i],
                              .count = want->size[i],
                              .worst = -1,
                              .norm_got = assay_norm2(got, want->size[i]),
                              .norm_want = assay_norm2(want->data[i], want->size[i])};
}
