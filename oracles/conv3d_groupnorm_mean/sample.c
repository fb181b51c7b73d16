#include "core/parallel.h"
#include "oracles/common/blas.h"
#include "oracles/conv3d_groupnorm_mean/definition.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

conv_sizes conv_sizes_of(const assay_params *params) {
    conv_sizes s = {.n = params->item[CONV_KEY_N].value[0],
                    .ci = params->item[CONV_KEY_CI].value[0],
                    .co = params->item[CONV_KEY_CO].value[0],
                    .k = params->item[CONV_KEY_K].value[0],
                    .groups = params->item[CONV_KEY_G].value[0],
                    .volume = 1,
                    .positions = 1,
                    .eps = params->item[CONV_KEY_EPS].real};
    for (int axis = 0; axis < 3; ++axis) {
        s.in[axis] = params->item[CONV_KEY_S].value[axis];
        s.out[axis] = s.in[axis] - s.k + 1;
        s.volume *= s.in[axis];
        s.positions *= s.out[axis];
    }
    s.terms = s.ci * s.k * s.k * s.k;
    s.per_group = s.co / s.groups;
    return s;
}

typedef struct stretches {
    const conv_sizes *s;
    double *x, *patches;
    void (*visit)(double *x, double *patch, int64_t count);
    int64_t per_plane; /* what a plane of x counts when work is shared out */
} stretches;

/* Hands each stretch along the last axis that a row of patches and a plane of x have in common to
 * `visit`. */
static void walk_plane(const stretches *w, int64_t row, int64_t plane) {
    const conv_sizes *s = w->s;
    const int64_t c = row % s->k, b = row / s->k % s->k, a = row / (s->k * s->k) % s->k;
    const int64_t d = plane - a;
    if (d < 0 || d >= s->out[0])
        return;
    double *x = w->x + row / (s->k * s->k * s->k) * s->volume + plane * s->in[1] * s->in[2];
    double *patch = w->patches + (row * s->out[0] + d) * s->out[1] * s->out[2];
    for (int64_t h = 0; h < s->out[1]; ++h, patch += s->out[2])
        w->visit(x + (h + b) * s->in[2] + c, patch, s->out[2]);
}

/* Planes of all channels. Each element of x meets its rows in their order. */
static void walk_piece(void *context, int64_t first, int64_t last) {
    const stretches *w = context;
    const int64_t taps = w->s->k * w->s->k * w->s->k, planes = w->s->in[0];
    for (int64_t i = first / w->per_plane; i < last / w->per_plane; ++i)
        for (int64_t row = i / planes * taps; row < (i / planes + 1) * taps; ++row)
            walk_plane(w, row, i % planes);
}

static void walk(const conv_sizes *s, double *x, double *patches,
                 void (*visit)(double *x, double *patch, int64_t count)) {
    stretches w = {s, x, patches, visit, s->k * s->k * s->k * s->out[1] * s->out[2] + 1};
    assay_parallel(s->ci * s->in[0] * w.per_plane, walk_piece, &w);
}

static void gather(double *x, double *patch, int64_t count) {
    memcpy(patch, x, (size_t)count * sizeof *patch);
}

static void scatter(double *x, double *patch, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        x[i] += patch[i];
}

void conv_gather(const conv_sizes *s, const double *x, double *patches) {
    walk(s, (double *)(uintptr_t)x, patches, gather);
}

void conv_scatter(const conv_sizes *s, const double *patches, double *x) {
    walk(s, x, (double *)(uintptr_t)patches, scatter);
}

typedef struct product {
    bool ta, tb;
    int64_t m, k;
    const double *a, *b;
    int64_t lda, ldb;
    double beta;
    double *c;
    int64_t ldc;
    int64_t per_column; /* what a column counts when work is shared out */
} product;

static void multiply_columns(void *context, int64_t first, int64_t last) {
    const product *p = context;
    const int64_t from = first / p->per_column, count = last / p->per_column - from;
    blas_gemm(p->ta, p->tb, p->m, count, p->k, p->a, p->lda, p->b + from * (p->tb ? p->ldb : 1),
              p->ldb, p->beta, p->c + from, p->ldc);
}

void conv_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
               const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    enum { PRODUCTS = 16 }; /* that cost no more than a simple step over one element */
    product p = {ta, tb, m, k, a, b, lda, ldb, beta, c, ldc, m * k / PRODUCTS + 1};
    assay_parallel(n * p.per_column, multiply_columns, &p);
}

assay_status conv_sample_init(conv_sample *t, const conv_sizes *s) {
    double **const part[] = {&t->patches, &t->spread, &t->c, &t->field, &t->mean, &t->inverse};
    const int64_t patches = s->terms * s->positions, channels = s->co * s->positions;
    const int64_t size[] = {patches, patches, channels, channels, s->groups, s->groups};
    enum { PARTS = sizeof size / sizeof *size };
    *t = (conv_sample){0};
    assay_status status = assay_arrays_init(&t->storage, PARTS);
    for (int32_t i = 0; status == ASSAY_OK && i < PARTS; ++i) {
        status = assay_arrays_add(&t->storage, i, size[i]);
        if (status == ASSAY_OK)
            *part[i] = t->storage.data[i];
    }
    return status;
}

void conv_sample_clear(conv_sample *t) {
    assay_arrays_clear(&t->storage);
}

static void measure(const conv_sizes *s, conv_sample *t) {
    const int64_t count = s->per_group * s->positions;
    for (int64_t group = 0; group < s->groups; ++group) {
        const double *c = t->c + group * count;
        double sum = 0, squares = 0;
        for (int64_t e = 0; e < count; ++e)
            sum += c[e];
        t->mean[group] = sum / (double)count;
        for (int64_t e = 0; e < count; ++e)
            squares += (c[e] - t->mean[group]) * (c[e] - t->mean[group]);
        t->inverse[group] = 1 / sqrt(squares / (double)count + s->eps);
    }
}

void conv_sample_load(const conv_sizes *s, const assay_oracle_args *args, int64_t n,
                      conv_sample *t) {
    conv_gather(s, args->in->data[CONV_X] + n * s->ci * s->volume, t->patches);
    for (int64_t o = 0; o < s->co; ++o)
        for (int64_t p = 0; p < s->positions; ++p)
            t->c[o * s->positions + p] = args->in->data[CONV_B][o];
    conv_gemm(false, false, s->co, s->positions, s->terms, args->in->data[CONV_W], s->terms,
              t->patches, s->positions, 1.0, t->c, s->positions);
    measure(s, t);
}
