#include "tests/evidence/faults.h"

#include <math.h>
#include <string.h>

const char *error_name(error_kind kind) {
    static const char *const names[ERROR_KINDS] = {"element*(1+d)", "element+d*rms", "all*(1+d)",
                                                   "all+d*rms"};
    return names[kind];
}

const char *fault_name(fault_kind kind) {
    static const char *const names[FAULT_KINDS] = {
        "tf32 operands", "bf16 operands",    "f32 operands", "input element dropped", "dy ignored",
        "NaN",           "elements swapped", "row zeroed",   "gradient zero"};
    return names[kind];
}

bool fault_applies(fault_kind kind, assay_dtype dtype, assay_math math) {
    switch (kind) {
    case FAULT_TF32:
        return dtype == ASSAY_F32 && math == ASSAY_STRICT;
    case FAULT_BF16:
        return dtype == ASSAY_F32;
    case FAULT_F32:
        return dtype == ASSAY_F64;
    default:
        return true;
    }
}

/* ---- of a problem ---- */

/* To nearest, ties to even, as cvt.rn does; a value that is cut instead is further off. */
static double to_tf32(double value) {
    enum { LOST = 13 };
    float f = (float)value;
    uint32_t bits;
    if (!isfinite(value))
        return value;
    memcpy(&bits, &f, sizeof bits);
    bits += (1u << (LOST - 1)) - 1 + (bits >> LOST & 1u);
    bits &= ~((1u << LOST) - 1);
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double lower(fault_kind kind, double value) {
    if (kind == FAULT_TF32)
        return to_tf32(value);
    return assay_dtype_round(kind == FAULT_BF16 ? ASSAY_BF16 : ASSAY_F32, value);
}

static void lower_all(fault_kind kind, const assay_tensor_spec *specs, assay_arrays *a) {
    for (int32_t i = 0; i < a->count; ++i)
        for (int64_t e = 0; a->data[i] && specs[i].dtype != ASSAY_I32 && e < a->size[i]; ++e)
            a->data[i][e] = lower(kind, a->data[i][e]);
}

/* Operators have an input of numbers; where it is empty there is nothing to drop. */
static void drop_element(assay_rng *rng, assay_problem *p) {
    int32_t i = (int32_t)assay_rng_between(rng, 0, p->sig.n_in - 1);
    while (p->sig.in[i].dtype == ASSAY_I32)
        i = (i + 1) % p->sig.n_in;
    if (p->in.size[i] > 0)
        p->in.data[i][assay_rng_between(rng, 0, p->in.size[i] - 1)] = 0;
}

static void ignore_cotangents(assay_problem *p) {
    for (int32_t o = 0; o < p->sig.n_out; ++o)
        for (int64_t e = 0; p->cot.data[o] && e < p->cot.size[o]; ++e)
            p->cot.data[o][e] = 1;
}

bool fault_is_of_problem(fault_kind kind) {
    return kind <= FAULT_COTANGENT;
}

void fault_of_problem(fault_kind kind, assay_rng *rng, assay_problem *p) {
    if (kind == FAULT_DROPPED) {
        drop_element(rng, p);
    } else if (kind == FAULT_COTANGENT) {
        ignore_cotangents(p);
    } else {
        lower_all(kind, p->sig.in, &p->in);
        lower_all(kind, p->sig.out, &p->cot);
    }
}

/* ---- of results ---- */

double *results_tensor(const assay_results *r, int32_t i, int64_t *count) {
    const assay_arrays *a = i < r->out.count ? &r->out : &r->grad;
    if (a == &r->grad)
        i -= r->out.count;
    *count = a->size[i];
    return a->data[i];
}

const assay_tensor_spec *results_spec(const assay_signature *sig, int32_t i) {
    return i < sig->n_out ? &sig->out[i] : &sig->in[i - sig->n_out];
}

/* A tensor that is there, from number `first` on; results have an output at least. */
static double *draw_tensor(assay_rng *rng, const assay_results *r, int32_t first, int32_t *which,
                           int64_t *count) {
    const int32_t n = r->out.count + r->grad.count;
    int32_t i = (int32_t)assay_rng_between(rng, first, n - 1);
    for (int32_t tries = first; tries < n; ++tries, i = i + 1 < n ? i + 1 : first) {
        double *data = results_tensor(r, i, count);
        *which = i;
        if (data && *count > 0)
            return data;
    }
    return NULL;
}

static void swap_elements(assay_rng *rng, double *data, int64_t count) {
    const int64_t a = assay_rng_between(rng, 0, count - 1);
    int64_t b = assay_rng_between(rng, 0, count - 1);
    for (int64_t tries = 0; tries < count && data[a] == data[b]; ++tries)
        b = (b + 1) % count;
    const double kept = data[a];
    data[a] = data[b];
    data[b] = kept;
}

/* A row along the last axis. */
static void zero_row(assay_rng *rng, const assay_tensor_spec *spec, double *data, int64_t count) {
    const int64_t length = spec->rank > 0 ? spec->shape[spec->rank - 1] : 1;
    const int64_t row = assay_rng_between(rng, 0, count / length - 1);
    memset(data + row * length, 0, (size_t)length * sizeof *data);
}

void fault_of_results(fault_kind kind, assay_rng *rng, const assay_signature *sig,
                      assay_results *r) {
    int32_t which;
    int64_t count;
    const int32_t first = kind == FAULT_GRADIENT ? r->out.count : 0;
    double *data = draw_tensor(rng, r, first, &which, &count);
    if (!data)
        return;
    if (kind == FAULT_NAN)
        data[assay_rng_between(rng, 0, count - 1)] = NAN;
    else if (kind == FAULT_SWAPPED)
        swap_elements(rng, data, count);
    else if (kind == FAULT_ROW)
        zero_row(rng, results_spec(sig, which), data, count);
    else
        memset(data, 0, (size_t)count * sizeof *data);
}

/* ---- errors of a size ---- */

/* Of what is finite. */
static double rms_of(const double *v, int64_t count) {
    double squares = 0, finite = 0;
    for (int64_t i = 0; i < count; ++i) {
        squares += isfinite(v[i]) ? v[i] * v[i] : 0;
        finite += isfinite(v[i]);
    }
    return finite > 0 ? sqrt(squares / finite) : 0;
}

/* The first finite one from `place` on, round the end, that is at least as large. */
static int64_t element_at(const double *v, int64_t count, uint64_t place, double least) {
    int64_t at = (int64_t)(place % (uint64_t)count);
    for (int64_t tries = 0; tries < count && !(fabs(v[at]) >= least && isfinite(v[at])); ++tries)
        at = (at + 1) % count;
    return at;
}

void error_inject(error_kind kind, double d, uint64_t place, assay_dtype dtype, const double *from,
                  double *to, int64_t count) {
    const double rms = rms_of(from, count);
    const bool relative = kind == ERROR_ELEMENT_RELATIVE || kind == ERROR_ALL_RELATIVE;
    int64_t first = 0, last = count;
    if (kind == ERROR_ELEMENT_RELATIVE || kind == ERROR_ELEMENT_ABSOLUTE) {
        first = element_at(from, count, place, relative ? rms : 0);
        last = first + 1;
    }
    memcpy(to, from, (size_t)count * sizeof *to);
    for (int64_t i = first; i < last; ++i)
        to[i] = assay_dtype_round(dtype, relative ? from[i] * (1 + d) : from[i] + d * rms);
}
