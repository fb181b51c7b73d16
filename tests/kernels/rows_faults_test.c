/*
 * Wrong kernels of operators on rows, each with one fault that people make. Host functions on the
 * simulated device's memory, in f32, on tensors without padding: the right one of each operator
 * passes, and each fault is found on the data that is named.
 */
#include "assay/dtype.h"
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>

typedef assay_status kernel(const assay_call *);

static float *data_of(const assay_tensor *t) {
    return t->data;
}

static assay_verdict verdict_on(const char *text, kernel *forward, kernel *backward) {
    assay_case c;
    const assay_device *sim;
    assay_report report;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_device_open("sim", &sim));
    const assay_variant variant = {.op = c.op->name,
                                   .name = "wrong",
                                   .device = "sim",
                                   .summary = "a test's own",
                                   .forward = forward,
                                   .backward = backward};
    const assay_variant *const list[] = {&variant};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 1;
    REQUIRE_OK(assay_check(&c, &device, NULL, 0, &report));
    const assay_verdict verdict = report.verdict;
    assay_report_clear(&report);
    return verdict;
}

/* A fault that is in the call below, and where it shows. */
typedef struct fault {
    const char *name, *text;
} fault;

static const char *now; /* the fault that the kernel has; NULL: none */

static bool has(const char *name) {
    return now != NULL && now == name;
}

static void expect(const fault *faults, size_t count, kernel *forward, kernel *backward) {
    for (size_t i = 0; i < count; ++i) {
        now = NULL;
        CHECK_MSG(verdict_on(faults[i].text, forward, backward) == ASSAY_PASS,
                  "%s: the right kernel does not pass", faults[i].text);
        now = faults[i].name;
        CHECK_MSG(verdict_on(faults[i].text, forward, backward) == ASSAY_FAIL,
                  "%s: a kernel that %s was not found", faults[i].text, now);
    }
    now = NULL;
}

/* ---- softmax ---- */

static const char no_maximum[] = "takes no maximum off",
                  last_left[] = "leaves out the last element",
                  maximum_of_zero[] = "begins its maximum at 0", no_sum[] = "has no sum in dx",
                  not_normal[] = "sums y dy of the powers",
                  first_row[] = "divides by the first sum";

static assay_status softmax(const assay_call *call) {
    const int64_t rows = assay_tensor_rows(&call->in[0]), d = assay_tensor_row_length(&call->in[0]);
    float first = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const float *x = data_of(&call->in[0]) + i * d;
        float *y = data_of(&call->out[0]) + i * d, most = has(maximum_of_zero) ? 0 : -INFINITY,
              sum = 0;
        for (int64_t j = 0; j < d; ++j)
            most = fmaxf(most, x[j]);
        if (has(no_maximum))
            most = 0;
        for (int64_t j = 0; j < d - has(last_left); ++j)
            sum += expf(x[j] - most);
        first = i == 0 ? sum : first;
        for (int64_t j = 0; j < d; ++j)
            y[j] = expf(x[j] - most) / (has(first_row) ? first : sum);
    }
    return ASSAY_OK;
}

static assay_status softmax_slopes(const assay_call *call) {
    const int64_t rows = assay_tensor_rows(&call->in[0]), d = assay_tensor_row_length(&call->in[0]);
    for (int64_t i = 0; i < rows; ++i) {
        const float *x = data_of(&call->in[0]) + i * d, *y = data_of(&call->in[1]) + i * d,
                    *dy = data_of(&call->in[2]) + i * d;
        float along = 0;
        for (int64_t j = 0; j < d; ++j)
            along += (has(not_normal) ? expf(x[j]) : y[j]) * dy[j];
        for (int64_t j = 0; j < d; ++j)
            data_of(&call->out[0])[i * d + j] = y[j] * (dy[j] - (has(no_sum) ? 0 : along));
    }
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, softmax, "unit smoke softmax") {
    static const fault faults[] = {
        {no_maximum, "softmax n=7 d=23 dtype=f32 fill=negative"},
        {maximum_of_zero, "softmax n=7 d=23 dtype=f32 fill=negative"},
        {no_maximum, "softmax n=7 d=23 dtype=f32 fill=huge"},
        {last_left, "softmax n=7 d=23 dtype=f32"},
        {first_row, "softmax n=7 d=23 dtype=f32"},
        {no_sum, "softmax n=7 d=23 dtype=f32"},
        {no_sum, "softmax n=7 d=23 dtype=f32 fill=cancel"},
        {not_normal, "softmax n=7 d=23 dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, softmax, softmax_slopes);
}

/* ---- layernorm ---- */

static const char one_pass[] = "takes the variance from E[x^2] - mean^2",
                  unbiased[] = "divides by d - 1", eps_outside[] = "adds eps to the root",
                  no_level[] = "leaves mean(g) out", no_slope[] = "leaves mean(g x^) out",
                  not_centred[] = "sums dy x in dw", last_row[] = "leaves the last row out of db",
                  bias_scaled[] = "scales b with w";

static void moments(const assay_call *call, int64_t i, float *mean, float *scale) {
    const int64_t d = assay_tensor_row_length(&call->in[0]);
    const float *x = data_of(&call->in[0]) + i * d;
    const float eps = (float)assay_params_find(call->params, "eps")->real;
    float sum = 0, squares = 0;
    for (int64_t j = 0; j < d; ++j)
        sum += x[j];
    *mean = sum / (float)d;
    for (int64_t j = 0; j < d; ++j) {
        const float part = x[j] - (has(one_pass) ? 0 : *mean);
        squares += part * part;
    }
    squares /= (float)(d - has(unbiased));
    if (has(one_pass))
        squares -= *mean * *mean;
    *scale = has(eps_outside) ? 1 / (sqrtf(squares) + eps) : 1 / sqrtf(squares + eps);
}

static assay_status layernorm(const assay_call *call) {
    const int64_t rows = assay_tensor_rows(&call->in[0]), d = assay_tensor_row_length(&call->in[0]);
    const float *w = data_of(&call->in[1]), *b = data_of(&call->in[2]);
    for (int64_t i = 0; i < rows; ++i) {
        float mean, scale;
        moments(call, i, &mean, &scale);
        for (int64_t j = 0; j < d; ++j) {
            const float unit = (data_of(&call->in[0])[i * d + j] - mean) * scale;
            data_of(&call->out[0])[i * d + j] =
                has(bias_scaled) ? (unit + b[j]) * w[j] : unit * w[j] + b[j];
        }
    }
    return ASSAY_OK;
}

static assay_status layernorm_slopes(const assay_call *call) {
    const int64_t rows = assay_tensor_rows(&call->in[0]), d = assay_tensor_row_length(&call->in[0]);
    const float *w = data_of(&call->in[1]);
    float *dw = data_of(&call->out[1]), *db = data_of(&call->out[2]);
    for (int64_t j = 0; j < d; ++j)
        dw[j] = db[j] = 0;
    for (int64_t i = 0; i < rows; ++i) {
        const float *x = data_of(&call->in[0]) + i * d, *dy = data_of(&call->in[4]) + i * d;
        float mean, scale, level = 0, slope = 0;
        moments(call, i, &mean, &scale);
        for (int64_t j = 0; j < d; ++j) {
            const float unit = (x[j] - mean) * scale;
            level += dy[j] * w[j] / (float)d;
            slope += dy[j] * w[j] * unit / (float)d;
            dw[j] += dy[j] * (has(not_centred) ? x[j] : unit);
            db[j] += has(last_row) && i == rows - 1 ? 0 : dy[j];
        }
        for (int64_t j = 0; j < d; ++j)
            data_of(&call->out[0])[i * d + j] =
                scale * (dy[j] * w[j] - (has(no_level) ? 0 : level) -
                         (has(no_slope) ? 0 : (x[j] - mean) * scale * slope));
    }
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, layernorm, "unit smoke layernorm") {
    static const fault faults[] = {
        {one_pass, "layernorm n=7 d=23 dtype=f32 fill=negative"},
        {unbiased, "layernorm n=7 d=23 dtype=f32"},
        {unbiased, "layernorm n=7 d=2050 dtype=f32"},
        {eps_outside, "layernorm n=7 d=23 dtype=f32"},
        {no_level, "layernorm n=7 d=23 dtype=f32"},
        {no_slope, "layernorm n=7 d=23 dtype=f32"},
        {not_centred, "layernorm n=7 d=23 dtype=f32"},
        {last_row, "layernorm n=7 d=23 dtype=f32"},
        {bias_scaled, "layernorm n=7 d=23 dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, layernorm, layernorm_slopes);
}

/* ---- gelu ---- */

static const char other_form[] = "takes tanh for erf", by_sigmoid[] = "is x sigma(1.702 x)",
                  short_constant[] = "rounds 0.044715 to 0.0447", only_share[] = "is Phi alone",
                  no_cubic[] = "leaves the cubic term out of the slope";

static double share(double x, bool by_tanh) {
    if (has(by_sigmoid))
        return 1 / (1 + exp(-1.702 * x));
    if (by_tanh != has(other_form))
        return 0.5 * (1 + tanh(0.79788456080286536 *
                               (x + (has(short_constant) ? 0.0447 : 0.044715) * x * x * x)));
    return 0.5 * (1 + erf(x * 0.70710678118654752));
}

static assay_status gelu(const assay_call *call) {
    const bool by_tanh = assay_params_int(call->params, "form") == 1;
    for (int64_t e = 0; e < assay_tensor_count(&call->out[0]); ++e) {
        const double x = (double)data_of(&call->in[0])[e];
        data_of(&call->out[0])[e] = (float)(x * share(x, by_tanh));
    }
    return ASSAY_OK;
}

static assay_status gelu_slopes(const assay_call *call) {
    const bool by_tanh = assay_params_int(call->params, "form") == 1;
    for (int64_t e = 0; e < assay_tensor_count(&call->out[0]); ++e) {
        const double x = (double)data_of(&call->in[0])[e], s = share(x, by_tanh);
        const double inner = 0.79788456080286536 * (1 + (has(no_cubic) ? 0 : 3) * 0.044715 * x * x);
        const double rest =
            by_tanh ? 2 * s * (1 - s) * inner : 0.39894228040143268 * exp(-0.5 * x * x);
        data_of(&call->out[0])[e] =
            (float)((double)data_of(&call->in[2])[e] * (s + (has(only_share) ? 0 : x * rest)));
    }
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, gelu, "unit smoke gelu") {
    static const fault faults[] = {
        {other_form, "gelu n=7 d=23 dtype=f32"},
        {other_form, "gelu n=7 d=23 form=tanh dtype=f32"},
        {by_sigmoid, "gelu n=7 d=23 dtype=f32"},
        {short_constant, "gelu n=7 d=23 form=tanh dtype=f32"},
        {only_share, "gelu n=7 d=23 dtype=f32"},
        {only_share, "gelu n=7 d=23 form=tanh dtype=f32 fill=cancel"},
        {no_cubic, "gelu n=7 d=23 form=tanh dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, gelu, gelu_slopes);
}

/* ---- transpose ---- */

static const char no_turn[] = "copies", first_matrix[] = "reads the first matrix only",
                  no_last[] = "leaves out what is beyond whole tiles",
                  by_half[] = "rounds to 16 bits on the way";

static void turn(const assay_tensor *from, const assay_tensor *to) {
    const int64_t rows = from->shape[from->rank - 2], columns = from->shape[from->rank - 1];
    const int64_t matrices = assay_tensor_count(from) / (rows * columns);
    for (int64_t m = 0; m < matrices; ++m)
        for (int64_t i = 0; i < rows - (has(no_last) ? rows % 4 : 0); ++i)
            for (int64_t j = 0; j < columns; ++j) {
                const int64_t at = m * rows * columns, source = has(first_matrix) ? 0 : at;
                float v = data_of(from)[source + i * columns + j];
                if (has(by_half))
                    v = (float)assay_dtype_round(ASSAY_BF16, (double)v);
                data_of(to)[at + (has(no_turn) ? i * columns + j : j * rows + i)] = v;
            }
}

static assay_status transpose(const assay_call *call) {
    turn(&call->in[0], &call->out[0]);
    return ASSAY_OK;
}

static assay_status transpose_back(const assay_call *call) {
    turn(&call->in[2], &call->out[0]);
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, transpose, "unit smoke transpose") {
    static const fault faults[] = {
        {no_turn, "transpose n=3 r=7 c=5 dtype=f32"},
        {first_matrix, "transpose n=3 r=7 c=5 dtype=f32"},
        {no_last, "transpose n=3 r=7 c=5 dtype=f32"},
        {by_half, "transpose n=3 r=7 c=5 dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, transpose, transpose_back);
}

/* ---- scan: of n=R x C along the last axis ---- */

static const char no_carry[] = "begins anew every 32 elements",
                  own_too[] = "adds the element itself where it should not",
                  by_difference[] = "takes the element off the inclusive sum",
                  same_way[] = "goes the same way in backward",
                  in_16_bits[] = "keeps the running sum in 16 bits";

static void scan_row(const float *from, float *to, int64_t d, bool exclusive, bool backwards) {
    float sum = 0;
    for (int64_t k = 0; k < d; ++k) {
        const int64_t e = backwards && !has(same_way) ? d - 1 - k : k;
        if (has(no_carry) && k % 32 == 0)
            sum = 0;
        const float before = sum;
        sum += from[e];
        if (has(in_16_bits))
            sum = (float)assay_dtype_round(ASSAY_BF16, (double)sum);
        to[e] = !exclusive || has(own_too) ? sum : has(by_difference) ? sum - from[e] : before;
    }
}

static void scan_rows(const assay_call *call, const assay_tensor *from, bool backwards) {
    const int64_t d = from->shape[1];
    for (int64_t i = 0; i < from->shape[0]; ++i)
        scan_row(data_of(from) + i * d, data_of(&call->out[0]) + i * d, d,
                 assay_params_int(call->params, "exclusive") != 0, backwards);
}

static assay_status scan(const assay_call *call) {
    scan_rows(call, &call->in[0], false);
    return ASSAY_OK;
}

static assay_status scan_back(const assay_call *call) {
    scan_rows(call, &call->in[2], true);
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, scan, "unit smoke scan") {
    static const fault faults[] = {
        {no_carry, "scan n=5x70 axis=1 dtype=f32"},
        {own_too, "scan n=5x70 axis=1 exclusive=1 dtype=f32"},
        {by_difference, "scan n=5x70 axis=1 exclusive=1 dtype=f32 fill=wide"},
        {same_way, "scan n=5x70 axis=1 dtype=f32"},
        {in_16_bits, "scan n=5x70 axis=1 dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, scan, scan_back);
}

/* ---- reduce: of n=R x C over the last axis ---- */

static const char from_zero[] = "begins the largest at 0", one_less[] = "divides by one less",
                  no_nan[] = "lets NaN be smaller than any number",
                  all_of_it[] = "gives every largest element all of dy",
                  only_first[] = "gives the first of equals all of dy",
                  evenly[] = "shares dy where the first should get it",
                  last_out[] = "leaves the last element out", not_divided[] = "does not divide dy";

typedef struct reduction {
    int64_t rows, d;
    bool mean, max, first;
} reduction;

static reduction reduction_of(const assay_call *call) {
    const int64_t kind = assay_params_find(call->params, "kind")->value[0];
    return (reduction){call->in[0].shape[0], call->in[0].shape[1], kind == 1, kind == 2,
                       assay_params_int(call->params, "first") != 0};
}

static float reduced(const reduction *s, const float *x) {
    float most = has(from_zero) ? 0 : -INFINITY, sum = 0;
    for (int64_t j = 0; j < s->d - (has(last_out) ? 1 : 0); ++j) {
        sum += x[j];
        if (x[j] > most || (isnan(x[j]) && !has(no_nan)))
            most = x[j];
    }
    return s->max ? most : s->mean ? sum / (float)(s->d - (has(one_less) ? 1 : 0)) : sum;
}

static assay_status reduce(const assay_call *call) {
    const reduction s = reduction_of(call);
    for (int64_t i = 0; i < s.rows; ++i)
        data_of(&call->out[0])[i] = reduced(&s, data_of(&call->in[0]) + i * s.d);
    return ASSAY_OK;
}

static void share_largest(const reduction *s, const float *x, float y, float dy, float *dx) {
    int ties = 0;
    const bool first = (s->first && !has(evenly)) || has(only_first);
    for (int64_t j = 0; j < s->d; ++j)
        ties += x[j] == y || (isnan(x[j]) && isnan(y));
    for (int64_t j = 0, given = 0; j < s->d; ++j) {
        const bool most = (x[j] == y || (isnan(x[j]) && isnan(y))) && !(first && given > 0);
        dx[j] = most ? (first || has(all_of_it) ? dy : dy / (float)ties) : 0;
        given += most;
    }
}

static assay_status reduce_back(const assay_call *call) {
    const reduction s = reduction_of(call);
    for (int64_t i = 0; i < s.rows; ++i) {
        const float dy = data_of(&call->in[2])[i];
        float *dx = data_of(&call->out[0]) + i * s.d;
        if (s.max)
            share_largest(&s, data_of(&call->in[0]) + i * s.d, data_of(&call->in[1])[i], dy, dx);
        for (int64_t j = 0; !s.max && j < s.d; ++j)
            dx[j] = s.mean && !has(not_divided) ? dy / (float)s.d : dy;
    }
    return ASSAY_OK;
}

ASSAY_TEST(rows_faults, reduce, "unit smoke reduce") {
    static const fault faults[] = {
        {from_zero, "reduce n=40x3 axes=1 kind=max dtype=f32"},
        {one_less, "reduce n=5x70 axes=1 kind=mean dtype=f32"},
        {no_nan, "reduce n=5x37 axes=1 kind=max dtype=f32 fill=nan"},
        {all_of_it, "reduce n=7x50 axes=1 kind=max dtype=f32 fill=repeat"},
        {only_first, "reduce n=7x50 axes=1 kind=max dtype=f32 fill=repeat"},
        {evenly, "reduce n=7x50 axes=1 kind=max first=1 dtype=f32 fill=repeat"},
        {last_out, "reduce n=5x70 axes=1 kind=sum dtype=f32"},
        {not_divided, "reduce n=5x70 axes=1 kind=mean dtype=f32"},
    };
    expect(faults, sizeof faults / sizeof *faults, reduce, reduce_back);
}
