/*
 * Bounds of conv3d_groupnorm_mean, from the errors of one sample's intermediate results.
 *
 * y = mean(β) + Σ_g (q/co) h_g with h = mean γ·x̂: it is off by what the h are, and by one sum of
 * co·P terms.
 *
 * dc = α_o - κ·(c - μ) with α = A·r·(γ_o - mean γ), κ = A·r²·h, A = dy/(co·P). A relative error of
 * r moves α by itself; κ is off by dκ, which comes of h and of r; and a constant, common to the
 * whole group, comes of the means of γ and of c. So the errors of dx, dw and db are three numbers a
 * group times sums over α, c - μ and 1, which keep their signs; then there are the error of each c,
 * times κ, and that of the last sum. dx, dw, db are small where they cancel (Σ dc over a group is
 * 0), the bounds are not.
 *
 * dβ is a sum over samples, and the mean of γ one over channels: a kernel that adds the same term
 * up for every position loses more, and fails where positions are many.
 */
#include "core/parallel.h"
#include "oracles/conv3d_groupnorm_mean/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double excursion = 4.0; /* see bound.h */

/* Roundings that a term passes through before it is summed. */
enum { TERM_ROUNDINGS = 8, GRADIENT_ROUNDINGS = 6, MEAN_ROUNDINGS = 3 };

/* ---- forward ---- */

/* The sum of all γ·x̂ + β: of mean |term| `size`. A channel whose terms hardly vary is a run of
 * equals. */
static double output_sum(const conv_sizes *s, const assay_oracle_args *args, const conv_sample *t,
                         const conv_errors *e, double size) {
    const double channels = (double)s->co, length = (double)s->positions;
    double phi = assay_accumulation(e->r, channels * length + TERM_ROUNDINGS);
    for (int64_t o = 0; o < s->co; ++o) {
        const double deviation = fabs(args->in->data[CONV_GAMMA][o]) *
                                 t->inverse[o / s->per_group] *
                                 sqrt(e->channel[o].scatter / length);
        if (deviation < 2 * e->r->u * channels * length * size)
            phi += conv_runs_of_equals(e->r, 1, length, 0);
    }
    return phi * size;
}

static double output_error(const conv_sizes *s, const assay_oracle_args *args, const conv_sample *t,
                           const conv_errors *e) {
    const double share = 1 / (double)s->groups;
    double error = 0, size = 0;
    for (int64_t g = 0; g < s->groups; ++g) {
        error += e->group[g].along_error * share;
        size += e->group[g].along_size * share;
    }
    for (int64_t o = 0; o < s->co; ++o)
        size += fabs(args->in->data[CONV_BETA][o]) / (double)s->co;
    return error + output_sum(s, args, t, e, size);
}

assay_status conv_forward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                const assay_arrays *want, assay_bounds *bounds) {
    const assay_rounding rule = conv_rounding(args, rounding), *r = &rule;
    const conv_sizes s = conv_sizes_of(args->params);
    const double elements = (double)(s.co * s.positions);
    conv_sample t = {0};
    conv_errors e = {0};
    assay_status status = conv_sample_init(&t, &s);
    if (status == ASSAY_OK)
        status = conv_errors_init(&e, &s, args, r);
    for (int64_t n = 0; status == ASSAY_OK && n < s.n; ++n) {
        conv_sample_load(&s, args, n, &t);
        conv_errors_of(&s, args, &t, &e);
        bounds->element.data[CONV_Y][n] = assay_bound_element(
            r, 1, elements, output_error(&s, args, &t, &e), want->data[CONV_Y][n]);
    }
    snprintf(bounds->why[CONV_Y], ASSAY_WHY,
             "errors of c (%.0f products), of the means and 1/sqrt(var + eps) over %.0f elements a "
             "group, then a sum of %.0f terms gamma x^ + beta; u = 2^%.0f%s",
             (double)s.terms, (double)(s.per_group * s.positions), elements, log2(r->u),
             r->product > 0 ? ", operands cut: 2^-9" : "");
    conv_errors_clear(&e);
    conv_sample_clear(&t);
    return status;
}

/* ---- backward: one group of one sample ---- */

/* dc = α - κ·(c - μ), and how far its parts may be off. */
typedef struct slope {
    double scale;       /* A·r without γ: α = scale·(γ - mean γ) */
    double kappa;       /* |κ| */
    double inverse;     /* relative error of α */
    double kappa_error; /* error of κ */
    double kappa_most;  /* |κ| with it, which the errors of c are multiplied by */
    double constant;    /* error that all dc of the group have in common */
} slope;

/* dz = |dy| / (co·P) */
static slope slope_of(const conv_sizes *s, const conv_sample *t, const conv_errors *e, double dz,
                      int64_t g) {
    const conv_group *group = &e->group[g];
    const double inverse = t->inverse[g], count = (double)(s->per_group * s->positions);
    const double along = fabs(group->along), sum = assay_accumulation(e->r, count + TERM_ROUNDINGS);
    const double off = group->inverse, grown = (1 + off) * (1 + off); /* of r, and r² at most */
    slope l = {.scale = dz * inverse, .inverse = off};
    l.kappa = l.scale * inverse * along;
    l.kappa_error =
        l.scale * inverse *
        (grown * (group->along_error + sum * group->along_size) + along * off * (2 + off));
    l.kappa_most = l.kappa + l.kappa_error;
    l.constant = l.scale * group->gamma_size *
                     conv_runs_of_equals(e->r, (double)s->per_group, (double)s->positions,
                                         GRADIENT_ROUNDINGS) +
                 l.kappa_most * group->mean;
    return l;
}

/* ---- backward: sums over fields of the shape of c ---- */

/* Sums of terms that are not negative: field·|x| in dw and field·|w| in dx, or with squares. */
enum {
    SIZE,   /* |α| + κ|c - μ|, no less than |dc| */
    WALK,   /* its squares */
    SPREAD, /* κ at most, times R; squares where the errors of c are independent */
    CUT, /* that κ times what cut operands of c are measured by; squares where signs are random */
    SUMS
};

typedef struct pass {
    conv_sizes s;
    const assay_oracle_args *args;
    const assay_rounding *r;
    assay_bounds *bounds;
    conv_sample t;
    conv_errors e;
    slope *slopes; /* per group */
    double unit;   /* a power of two near the largest |dy|: errors are in units of it, so that their
                    * squares neither underflow nor overflow */
    double lost;   /* by underflow in one dc; reach_x, reach_w: the largest |x|, |w| */
    double reach_x, reach_w;
    assay_arrays w, x;     /* SUMS arrays: of dw over all samples, of dx of this sample; and then */
    double *rows, *volume; /* room for a product shaped as dw, for one shaped as that dx */
} pass;

static assay_status pass_init(pass *f, const assay_oracle_args *args, const assay_rounding *r,
                              assay_bounds *bounds) {
    *f = (pass){.s = conv_sizes_of(args->params), .args = args, .r = r, .bounds = bounds};
    assay_status status = conv_sample_init(&f->t, &f->s);
    if (status == ASSAY_OK)
        status = conv_errors_init(&f->e, &f->s, args, r);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&f->w, SUMS + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&f->x, SUMS + 1);
    for (int32_t i = 0; status == ASSAY_OK && i <= SUMS; ++i) {
        status = assay_arrays_add(&f->w, i, f->s.co * f->s.terms);
        if (status == ASSAY_OK)
            status = assay_arrays_add(&f->x, i, f->s.ci * f->s.volume);
    }
    if (status != ASSAY_OK)
        return status;
    f->rows = f->w.data[SUMS];
    f->volume = f->x.data[SUMS];
    f->slopes = calloc((size_t)f->s.groups, sizeof *f->slopes);
    return f->slopes ? ASSAY_OK
                     : assay_fail(ASSAY_ERR_MEMORY, "out of memory for the slopes of %lld groups",
                                  (long long)f->s.groups);
}

static void pass_clear(pass *f) {
    conv_sample_clear(&f->t);
    conv_errors_clear(&f->e);
    assay_arrays_clear(&f->w);
    assay_arrays_clear(&f->x);
    free(f->slopes);
}

static double alpha_of(const pass *f, int64_t o) {
    const int64_t g = o / f->s.per_group;
    return f->slopes[g].scale * (f->args->in->data[CONV_GAMMA][o] - f->e.group[g].gamma);
}

static double size_at(const pass *f, int64_t i) {
    const int64_t o = i / f->s.positions, g = o / f->s.per_group;
    return fabs(alpha_of(f, o)) + f->slopes[g].kappa * fabs(f->t.c[i] - f->t.mean[g]);
}

static double walk_at(const pass *f, int64_t i) {
    return conv_square(size_at(f, i));
}

static double kappa_at(const pass *f, int64_t i) {
    return f->slopes[i / (f->s.positions * f->s.per_group)].kappa_most;
}

static double spread_at(const pass *f, int64_t i) {
    const double term = kappa_at(f, i) * f->e.reach[i];
    return f->e.independent ? conv_square(term) : term;
}

static double cut_at(const pass *f, int64_t i) {
    const double kappa = kappa_at(f, i);
    return (f->r->zero_mean ? kappa * kappa : kappa) * f->e.operands[i];
}

typedef struct filling {
    const pass *f;
    double (*field)(const pass *, int64_t);
} filling;

static void fill_piece(void *context, int64_t first, int64_t last) {
    const filling *w = context;
    for (int64_t i = first; i < last; ++i)
        w->f->t.field[i] = w->field(w->f, i);
}

static void fill_field(pass *f, double (*field)(const pass *, int64_t)) {
    filling w = {f, field};
    assay_parallel(f->s.co * f->s.positions, fill_piece, &w);
}

/* Adds to sum `which` the products of that field with |x| and |w|, or with their squares. */
static void add_products(pass *f, int32_t which, double (*field)(const pass *, int64_t),
                         bool squared) {
    const conv_sizes *s = &f->s;
    fill_field(f, field);
    conv_map_patches(s, squared ? conv_square : fabs, &f->t);
    conv_gemm(false, true, s->co, s->terms, s->positions, f->t.field, s->positions, f->t.spread,
              s->positions, 1.0, f->w.data[which], s->terms);
    conv_gemm(true, false, s->terms, s->positions, s->co, squared ? f->e.square : f->e.magnitude,
              s->terms, f->t.field, s->positions, 0.0, f->t.spread, s->positions);
    conv_scatter(s, f->t.spread, f->x.data[which]);
}

/* ---- backward: errors that a group or a channel has in common ---- */

/* Adds factor·|Σ field·w| to the bounds of this sample's dx, for a field over the group in t.field.
 */
static void add_transposed(pass *f, int64_t g, double factor, double *bound) {
    const conv_sizes *s = &f->s;
    const int64_t first = g * s->per_group, volume = s->ci * s->volume;
    memset(f->volume, 0, (size_t)volume * sizeof *f->volume);
    conv_gemm(true, false, s->terms, s->positions, s->per_group,
              f->args->in->data[CONV_W] + first * s->terms, s->terms,
              f->t.field + first * s->positions, s->positions, 0.0, f->t.spread, s->positions);
    conv_scatter(s, f->t.spread, f->volume);
    for (int64_t e = 0; e < volume; ++e)
        bound[e] += factor * fabs(f->volume[e]);
}

static double alpha_at(const pass *f, int64_t i) {
    return alpha_of(f, i / f->s.positions);
}

static double apart_at(const pass *f, int64_t i) {
    return f->t.c[i] - f->t.mean[i / (f->s.positions * f->s.per_group)];
}

static double one_at(const pass *f, int64_t i) {
    (void)f;
    (void)i;
    return 1;
}

static void add_common_to_x(pass *f, double *bound) {
    fill_field(f, alpha_at);
    for (int64_t g = 0; g < f->s.groups; ++g)
        add_transposed(f, g, f->slopes[g].inverse, bound);
    fill_field(f, apart_at);
    for (int64_t g = 0; g < f->s.groups; ++g)
        add_transposed(f, g, f->slopes[g].kappa_error, bound);
    fill_field(f, one_at);
    for (int64_t g = 0; g < f->s.groups; ++g)
        add_transposed(f, g, f->slopes[g].constant, bound);
}

static void add_common_to_w(pass *f, double *bound) {
    const conv_sizes *s = &f->s;
    fill_field(f, apart_at);
    conv_gemm(false, true, s->co, s->terms, s->positions, f->t.field, s->positions, f->t.patches,
              s->positions, 0.0, f->rows, s->terms);
    for (int64_t o = 0; o < s->co; ++o) {
        const slope *l = &f->slopes[o / s->per_group];
        const double level = fabs(alpha_of(f, o)) * l->inverse + l->constant;
        for (int64_t j = 0; j < s->terms; ++j)
            bound[o * s->terms + j] +=
                level * fabs(f->e.column[j]) + l->kappa_error * fabs(f->rows[o * s->terms + j]);
    }
}

/* The loss of a cut operand of c meets the operand itself: w·x in c and x in the sum of dw, and
 * likewise for dx. */
static void add_own_cut(pass *f, const double *x, double *bound_w, double *bound_x) {
    const conv_sizes *s = &f->s;
    const int64_t taps = s->terms / s->ci;
    for (int64_t o = 0; o < s->co; ++o) {
        const double kappa = f->r->product * f->slopes[o / s->per_group].kappa;
        for (int64_t j = 0; j < s->terms; ++j)
            bound_w[o * s->terms + j] += kappa * f->e.magnitude[o * s->terms + j] * f->e.power[j];
        for (int64_t i = 0; i < s->ci; ++i) {
            double weights = 0;
            for (int64_t j = i * taps; j < (i + 1) * taps; ++j)
                weights += f->e.square[o * s->terms + j];
            for (int64_t e = 0; e < s->volume; ++e)
                bound_x[i * s->volume + e] += kappa * weights * fabs(x[i * s->volume + e]);
        }
    }
}

/* ---- backward: b, γ, β ---- */

/* phi of a channel's sum over all samples. */
static double phi_of_channel(const pass *f, double size, double deviation) {
    return conv_runs_of_likes(f->r, (double)f->s.n, (double)f->s.positions, TERM_ROUNDINGS, size,
                              deviation);
}

static double error_of_b(const pass *f, int64_t o, double swing) {
    const conv_channel *channel = &f->e.channel[o];
    const slope *l = &f->slopes[o / f->s.per_group];
    const double count = (double)f->s.positions, alpha = fabs(alpha_of(f, o));
    const double off = fabs(channel->off), size = alpha + l->kappa * channel->apart;
    const double common = alpha * l->inverse + l->kappa_error * off + l->constant +
                          l->kappa_most * (channel->own + channel->sum);
    const double phi = phi_of_channel(f, size, l->kappa * sqrt(channel->scatter / count));
    return count * common +
           phi * fmin(count * size, count * (alpha + l->kappa * off) + l->kappa * swing);
}

/* In units of |dy|/(co·P)/√(variance + eps). */
static double error_of_gamma(const pass *f, int64_t o, double swing) {
    const conv_channel *channel = &f->e.channel[o];
    const conv_group *group = &f->e.group[o / f->s.per_group];
    const double count = (double)f->s.positions, off = fabs(channel->off);
    const double common =
        off * group->inverse + (1 + group->inverse) * (channel->own + channel->sum + group->mean);
    const double phi = phi_of_channel(f, channel->apart, sqrt(channel->scatter / count));
    return count * common + phi * fmin(count * channel->apart, count * off + swing);
}

/* Adds what this sample gives to the bounds of db and dγ. */
static void add_channels(pass *f) {
    for (int64_t o = 0; o < f->s.co; ++o) {
        const double swing = f->r->zero_mean ? excursion * sqrt(f->e.channel[o].scatter) : INFINITY;
        f->bounds->element.data[CONV_B][o] += error_of_b(f, o, swing);
        f->bounds->element.data[CONV_GAMMA][o] +=
            f->slopes[o / f->s.per_group].scale * error_of_gamma(f, o, swing);
    }
}

/* ---- backward ---- */

static void clear_sums(assay_arrays *sums) {
    for (int32_t i = 0; i < SUMS; ++i)
        memset(sums->data[i], 0, (size_t)sums->size[i] * sizeof(double));
}

/* Makes bounds of the errors in common, in `bound`, and of the sums of `terms` products of dc with
 * what is at most `reach`. */
static void finish(const pass *f, const assay_arrays *sums, double terms, double reach,
                   int64_t count, const double *want, double *bound) {
    const assay_rounding *r = f->r;
    for (int64_t i = 0; i < count; ++i) {
        double size = sums->data[SIZE][i], cut = sums->data[CUT][i];
        if (r->zero_mean) {
            size = fmin(size, excursion * sqrt(sums->data[WALK][i]));
            cut = excursion * sqrt(cut);
        }
        const double spread = sums->data[SPREAD][i];
        const double error =
            bound[i] + (f->e.independent ? f->e.walk * sqrt(spread) : f->e.worst * spread) +
            r->product * cut + assay_product_error(r, terms + GRADIENT_ROUNDINGS, 1, size, size);
        bound[i] =
            assay_bound_element(r, 1, terms * (1 + f->lost * reach), error * f->unit, want[i]);
    }
}

static double largest(const double *values, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; ++i)
        most = fmax(most, fabs(values[i]));
    return most;
}

/*
 * dc = dy / (co·P) · r · (γ - mean γ - x^ mean(γ x^)), r = 1/√(var + eps): what one of its products
 * loses by underflow is multiplied by no more than all other factors.
 */
enum { PRODUCTS_OF_DC = 4 };

static void note_underflow(pass *f) {
    const conv_sizes *s = &f->s;
    const double gamma = fmax(1, largest(f->args->in->data[CONV_GAMMA], s->co));
    for (int64_t i = 0; i < s->co * s->positions; ++i) {
        const int64_t g = i / (s->positions * s->per_group);
        const double inverse = f->t.inverse[g], x = inverse * (f->t.c[i] - f->t.mean[g]);
        const double lost = PRODUCTS_OF_DC * fmax(1, inverse) * gamma * (2 + x * x);
        f->lost = isfinite(lost) ? fmax(f->lost, lost) : f->lost;
    }
}

static void add_sample(pass *f, const assay_arrays *want, int64_t n) {
    const conv_sizes *s = &f->s;
    const int64_t volume = s->ci * s->volume;
    const double dz =
        fabs(f->args->cot->data[CONV_Y][n]) / f->unit / (double)(s->co * s->positions);
    double *bound_w = f->bounds->element.data[CONV_W];
    double *bound_x = f->bounds->element.data[CONV_X] + n * volume;
    conv_sample_load(s, f->args, n, &f->t);
    conv_errors_of(s, f->args, &f->t, &f->e);
    note_underflow(f);
    for (int64_t g = 0; g < s->groups; ++g)
        f->slopes[g] = slope_of(s, &f->t, &f->e, dz, g);
    clear_sums(&f->x);
    memset(bound_x, 0, (size_t)volume * sizeof *bound_x);
    add_products(f, SIZE, size_at, false);
    if (f->r->zero_mean)
        add_products(f, WALK, walk_at, true);
    add_products(f, SPREAD, spread_at, f->e.independent);
    if (f->r->product > 0)
        add_products(f, CUT, cut_at, f->r->zero_mean);
    if (f->r->product > 0 && f->r->zero_mean)
        add_own_cut(f, f->args->in->data[CONV_X] + n * volume, bound_w, bound_x);
    add_common_to_w(f, bound_w);
    add_common_to_x(f, bound_x);
    add_channels(f);
    finish(f, &f->x, (double)(s->co * (s->terms / s->ci)), f->reach_w, volume,
           want->data[CONV_X] + n * volume, bound_x);
}

static double bound_of_beta(const pass *f) {
    const conv_sizes *s = &f->s;
    double sum = 0;
    for (int64_t n = 0; n < s->n; ++n)
        sum += fabs(f->args->cot->data[CONV_Y][n]) / (double)s->co;
    return sum * conv_runs_of_equals(f->r, (double)s->n, (double)s->positions, MEAN_ROUNDINGS);
}

static void write_why(const pass *f) {
    const conv_sizes *s = &f->s;
    const char *cut = f->r->product > 0 ? ", operands cut: 2^-9" : "";
    const double u = log2(f->r->u);
    snprintf(f->bounds->why[CONV_X], ASSAY_WHY,
             "dc = alpha - kappa (c - mean): errors of 1/sqrt(var + eps), of the means and of c, "
             "then a sum of %.0f dc w; u = 2^%.0f%s",
             (double)(s->co * (s->terms / s->ci)), u, cut);
    snprintf(f->bounds->why[CONV_W], ASSAY_WHY,
             "dc = alpha - kappa (c - mean): errors of 1/sqrt(var + eps), of the means and of c, "
             "then a sum of %.0f dc x; u = 2^%.0f%s",
             (double)(s->n * s->positions), u, cut);
    snprintf(f->bounds->why[CONV_B], ASSAY_WHY,
             "sum of %.0f dc, which cancels: errors of their parts, of the means and of the sum "
             "over |dc|; u = 2^%.0f%s",
             (double)(s->n * s->positions), u, cut);
    snprintf(f->bounds->why[CONV_GAMMA], ASSAY_WHY,
             "errors of the means of c and of 1/sqrt(var + eps), then a sum of %.0f terms dy x^; "
             "u = 2^%.0f%s",
             (double)(s->n * s->positions), u, cut);
    snprintf(f->bounds->why[CONV_BETA], ASSAY_WHY, "sum of %.0f dy, over co; u = 2^%.0f",
             (double)s->n, u);
}

assay_status conv_backward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                 const assay_arrays *want, assay_bounds *bounds) {
    const assay_rounding rule = conv_rounding(args, rounding), *r = &rule;
    pass f;
    assay_status status = pass_init(&f, args, r, bounds);
    if (status != ASSAY_OK)
        goto done;
    for (int32_t i = CONV_W; i <= CONV_BETA; ++i)
        memset(bounds->element.data[i], 0, (size_t)want->size[i] * sizeof(double));
    const double dy = largest(args->cot->data[CONV_Y], f.s.n);
    f.unit = dy > 0 && isfinite(dy) ? ldexp(1, ilogb(dy)) : 1;
    f.reach_x = largest(args->in->data[CONV_X], f.s.n * f.s.ci * f.s.volume);
    f.reach_w = largest(args->in->data[CONV_W], f.s.co * f.s.terms);
    for (int64_t n = 0; n < f.s.n; ++n)
        add_sample(&f, want, n);
    const double terms = (double)(f.s.n * f.s.positions), of_beta = bound_of_beta(&f);
    finish(&f, &f.w, terms, f.reach_x, want->size[CONV_W], want->data[CONV_W],
           bounds->element.data[CONV_W]);
    for (int32_t i = CONV_B; i <= CONV_GAMMA; ++i)
        for (int64_t o = 0; o < f.s.co; ++o)
            bounds->element.data[i][o] = assay_bound_element(
                r, 1, terms * (1 + f.lost), bounds->element.data[i][o] * f.unit, want->data[i][o]);
    for (int64_t o = 0; o < f.s.co; ++o)
        bounds->element.data[CONV_BETA][o] =
            assay_bound_element(r, 1, terms, of_beta, want->data[CONV_BETA][o]);
    write_why(&f);
done:
    pass_clear(&f);
    return status;
}
