#include "assay/compare.h"
#include "assay/op.h"

#include "core/norm.h"
#include "core/parallel.h"

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

/* Where the pieces of a comparison lie depends on the count alone, so its norms do not depend on
 * how many processors there are. */
enum { MOST_PIECES = 64, SMALLEST_PIECE = 1 << 18 };

/* Elements [first, last), before they are judged as a whole. */
typedef struct piece {
    assay_norms of_got, of_want, of_bound, of_error;
    int64_t wrong, unbounded, worst;
    double ratio; /* at `worst` */
    bool zeros_pass;
} piece;

typedef struct arguments {
    assay_dtype dtype;
    const double *got, *want, *bound;
    const bool *nan_too; /* elements that may be NaN as well, or NULL */
    bool any_infinity;   /* for one that is not finite, any such number will do */
    int64_t count, length;
    piece *pieces;
} arguments;

/* Of two candidates for the worst: the first one without a bound, else the largest ratio. */
static bool is_worse(int64_t unbounded, double ratio, const piece *than) {
    return than->worst < 0 || (than->unbounded == 0 && (unbounded > 0 || ratio > than->ratio));
}

/* Whether element i may be what it is, although the oracle's is another number or none. */
static bool is_allowed(const arguments *a, int64_t i) {
    const double got = a->got[i];
    return (a->nan_too && a->nan_too[i] && isnan(got)) ||
           (a->any_infinity && !isfinite(a->want[i]) && !isfinite(got));
}

static piece compare_piece(const arguments *a, int64_t first, int64_t last) {
    piece p = {.worst = -1, .zeros_pass = true};
    for (int64_t i = first; i < last; ++i) {
        const double got = a->got[i], want = a->want[i], bound = a->bound[i];
        const comparison j = is_allowed(a, i) ? equal : compare_element(a->dtype, got, want, bound);
        const bool unbounded = lacks_bound(want, bound);
        if (is_worse(unbounded, j.ratio, &p)) {
            p.worst = i;
            p.ratio = j.ratio;
        }
        p.wrong += !j.right;
        p.unbounded += unbounded;
        p.zeros_pass = p.zeros_pass && compare_element(a->dtype, 0, want, bound).right;
        assay_norms_add(&p.of_error, j.error);
        assay_norms_add(&p.of_got, got);
        assay_norms_add(&p.of_want, want);
        assay_norms_add(&p.of_bound, bound);
    }
    return p;
}

static void compare_pieces(void *context, int64_t first, int64_t last) {
    const arguments *a = context;
    for (int64_t i = first; i < last; ++i) {
        const int64_t end = (i + 1) * a->length;
        a->pieces[i] = compare_piece(a, i * a->length, end < a->count ? end : a->count);
    }
}

static void join(piece *p, const piece *next) {
    if (is_worse(next->unbounded, next->ratio, p)) {
        p->worst = next->worst;
        p->ratio = next->ratio;
    }
    p->wrong += next->wrong;
    p->unbounded += next->unbounded;
    p->zeros_pass = p->zeros_pass && next->zeros_pass;
    assay_norms_join(&p->of_error, &next->of_error);
    assay_norms_join(&p->of_got, &next->of_got);
    assay_norms_join(&p->of_want, &next->of_want);
    assay_norms_join(&p->of_bound, &next->of_bound);
}

static piece compare_elements(arguments *a) {
    const int64_t share = (a->count + MOST_PIECES - 1) / MOST_PIECES;
    a->length = share < SMALLEST_PIECE ? SMALLEST_PIECE : share;
    if (a->count <= a->length)
        return compare_piece(a, 0, a->count);
    piece pieces[MOST_PIECES];
    const int64_t n = (a->count + a->length - 1) / a->length;
    a->pieces = pieces;
    assay_parallel_pieces(n, compare_pieces, a);
    for (int64_t i = 1; i < n; ++i)
        join(&pieces[0], &pieces[i]);
    return pieces[0];
}

static assay_comparison compare(arguments a) {
    assay_comparison r = {.verdict = ASSAY_PASS, .reason = "", .count = a.count};
    const piece all = compare_elements(&a);
    r.wrong = all.wrong;
    r.unbounded = all.unbounded;
    r.worst = all.worst;
    r.ratio = all.ratio;
    if (r.worst >= 0) {
        r.got = isnan(a.got[r.worst]) ? NAN : a.got[r.worst]; /* a NaN's sign says nothing */
        r.want = a.want[r.worst];
        r.bound = a.bound[r.worst];
    }
    r.max_abs = all.of_error.max;
    r.rel_l1 = assay_norms_ratio_l1(&all.of_error, &all.of_want);
    r.rel_l2 = assay_norms_ratio_l2(&all.of_error, &all.of_want);
    r.rel_linf = assay_norms_ratio_linf(&all.of_error, &all.of_want);
    r.norm_got = assay_norms_l2(&all.of_got);
    r.norm_want = assay_norms_l2(&all.of_want);
    r.resolution = assay_norms_ratio_l2(&all.of_bound, &all.of_want);

    if (r.unbounded > 0) {
        r.verdict = ASSAY_ERROR;
        r.reason = "a bound is not finite where the oracle's value is";
    } else if (r.wrong > 0) {
        r.verdict = ASSAY_FAIL;
        r.reason = wrong_reason(&r);
    } else if (a.count <= 0 || all.zeros_pass) {
        r.verdict = ASSAY_MISTRUSTED;
        r.reason = a.count <= 0 ? "nothing to compare" : "a result of zeros would pass";
    }
    return r;
}

assay_comparison assay_compare(assay_dtype dtype, const double *got, const double *want,
                               const double *bound, int64_t count) {
    return compare((arguments){dtype, got, want, bound, .count = count});
}

assay_comparison assay_compare_bounded(assay_dtype dtype, const double *got,
                                       const assay_arrays *want, const assay_bounds *bounds,
                                       int32_t i) {
    if (bounds->outside[i][0] == '\0')
        return compare((arguments){dtype, got, want->data[i], bounds->element.data[i],
                                   bounds->nan_too[i], bounds->any_infinity[i],
                                   .count = want->size[i]});
    return (assay_comparison){.verdict = ASSAY_MISTRUSTED,
                              .reason = bounds->outside[i],
                              .count = want->size[i],
                              .worst = -1,
                              .norm_got = assay_norm2(got, want->size[i]),
                              .norm_want = assay_norm2(want->data[i], want->size[i])};
}
