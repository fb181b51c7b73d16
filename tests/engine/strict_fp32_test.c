/*
 * Strict fp32 is told from fewer digits at any length of a sum: models of products
 * that are made of digits in fewer bits, as tensor cores take them, in the place of v1's forward.
 * Data of random size tell them up to some thousand terms, as a whole (the baseline tier);
 * fill=single, whose factors have all 24 bits between them, at any.
 */
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 3, MOST_PRODUCTS = 6, BLOCK = 128 };

typedef enum split { FMA, BF16, F16, TF32_CUT } split;

/* Digits of each operand, and the products of them that are taken, small ones first. */
typedef struct scheme {
    const char *name;
    split split;
    int n_digits, n_products;
    int product[MOST_PRODUCTS][2];
    bool scaled; /* rows of a and columns of b, by powers of two */
    int low;     /* the power of two by which the lower digit is kept larger */
    int64_t block;
} scheme;

static const scheme *current;
static const assay_variant *v1;

static double rounded(assay_dtype dtype, double v) {
    return assay_dtype_round(dtype, v);
}

static float cut(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    u &= ~(uint32_t)0x1fff;
    memcpy(&v, &u, sizeof v);
    return v;
}

static void split_value(float v, double digit[MOST_DIGITS]) {
    const double scale = ldexp(1, current->low);
    digit[0] = digit[1] = digit[2] = 0;
    switch (current->split) {
    case FMA:
        digit[0] = v;
        break;
    case TF32_CUT:
        digit[0] = cut(v);
        break;
    case F16:
        digit[0] = rounded(ASSAY_F16, v);
        digit[1] = rounded(ASSAY_F16, (v - digit[0]) * scale) / scale;
        break;
    case BF16:
        for (int d = 0; d < current->n_digits; ++d) {
            digit[d] = rounded(ASSAY_BF16, v);
            v = (float)(v - digit[d]);
        }
        break;
    }
}

/* Terms lie `step` apart. */
static int exponent_of(const float *x, int64_t k, int64_t step) {
    enum { TOP = 12 };
    float largest = 0;
    for (int64_t l = 0; l < k; ++l)
        largest = fmaxf(largest, fabsf(x[l * step]));
    return current->scaled && largest > 0 ? TOP - ilogbf(largest) : 0;
}

/* The digits of `count` vectors of k terms; returns what they were scaled by. */
static double *split_all(const float *x, int64_t count, int64_t apart, int64_t k, int64_t step,
                         int *exponent) {
    double *digits = malloc((size_t)(count * k) * MOST_DIGITS * sizeof *digits);
    REQUIRE(digits != NULL);
    for (int64_t i = 0; i < count; ++i) {
        exponent[i] = exponent_of(x + i * apart, k, step);
        for (int64_t l = 0; l < k; ++l)
            split_value(ldexpf(x[i * apart + l * step], exponent[i]),
                        digits + (i * k + l) * MOST_DIGITS);
    }
    return digits;
}

/* Each block of terms has its own sum: that of small products, to which the others are added. */
static float sum_of(const double *a, const double *b, int64_t k) {
    const int last = current->n_products - 1;
    const int64_t block = current->block > 0 ? current->block : k;
    float total = 0;
    for (int64_t first = 0; first < k; first += block) {
        const int64_t end = first + block < k ? first + block : k;
        float part = 0;
        for (int p = 0; p <= last; ++p)
            for (int64_t l = first; l < end; ++l)
                part = fmaf((float)a[l * MOST_DIGITS + current->product[p][0]],
                            (float)b[l * MOST_DIGITS + current->product[p][1]], part);
        total = first > 0 ? total + part : part;
    }
    return total;
}

static assay_status forward(const assay_call *call) {
    const int64_t m = call->out[0].shape[0], n = call->out[0].shape[1], k = call->in[0].shape[1];
    const float *c = call->in[2].data;
    float *y = call->out[0].data;
    int of_a[128], of_b[128];
    REQUIRE(m <= 128 && n <= 128);
    double *a = split_all(call->in[0].data, m, k, k, 1, of_a);
    double *b = split_all(call->in[1].data, n, 1, k, n, of_b);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            const float sum = sum_of(a + i * k * MOST_DIGITS, b + j * k * MOST_DIGITS, k);
            y[i * n + j] = c[i * n + j] + ldexpf(sum, -of_a[i] - of_b[j]);
        }
    free(a);
    free(b);
    return ASSAY_OK;
}

/* ---- judging ---- */

static assay_verdict verdict_of(const scheme *s, const char *text, char reason[ASSAY_REASON]) {
    const assay_device *sim;
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(assay_case_parse(text, &c));
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "matmul_accumulate") == 0 &&
            strcmp(sim->variants[i]->name, "v1") == 0)
            v1 = sim->variants[i];
    assay_variant model = *v1;
    model.name = "model";
    model.forward = forward;
    current = s;
    const assay_variant *const list[] = {v1, &model};
    assay_device device = *sim;
    device.variants = list;
    device.n_variants = 2;
    const char *name = "model";
    REQUIRE_OK(assay_check_numbers(&c, &device, &name, 1, &report));
    const assay_verdict verdict = report.verdict;
    snprintf(reason, ASSAY_REASON, "%s", report.rows[0].reason);
    assay_report_clear(&report);
    return verdict;
}

static const int lengths[] = {16, 100, 512, 4096, 65536};
enum { LENGTHS = sizeof lengths / sizeof *lengths, SEEDS = 6 };

static const scheme right[] = {
    {"fma in sequence", FMA, 1, 1, {{0, 0}}, false, 0, 0},
    {"fma in blocks", FMA, 1, 1, {{0, 0}}, false, 0, BLOCK},
    {"six bf16 products, scaled",
     BF16,
     3,
     6,
     {{1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}},
     true,
     0,
     BLOCK},
    {"three fp16 products, scaled", F16, 2, 3, {{0, 1}, {1, 0}, {0, 0}}, true, 11, BLOCK},
};

static const scheme wrong[] = {
    {"three bf16 products", BF16, 2, 3, {{0, 1}, {1, 0}, {0, 0}}, false, 0, BLOCK},
    {"three bf16 products, scaled", BF16, 2, 3, {{0, 1}, {1, 0}, {0, 0}}, true, 0, BLOCK},
    {"four bf16 products of two digits",
     BF16,
     2,
     4,
     {{1, 1}, {0, 1}, {1, 0}, {0, 0}},
     true,
     0,
     BLOCK},
    {"five bf16 products", BF16, 3, 5, {{0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}, true, 0, BLOCK},
    {"three fp16 products, unscaled", F16, 2, 3, {{0, 1}, {1, 0}, {0, 0}}, false, 0, BLOCK},
    {"TF32, cut once", TF32_CUT, 1, 1, {{0, 0}}, false, 0, BLOCK},
};

static void case_of(int length, const char *fill, int seed, char text[ASSAY_CASE_TEXT]) {
    snprintf(text, ASSAY_CASE_TEXT, "matmul_accumulate m=8 n=8 k=%d dtype=f32 fill=%s seed=%d",
             length, fill, seed);
}

/* All seeds of the data that tell, and some of others; a long sum of random data once. */
ASSAY_TEST(strict_fp32, schemes_that_hold_pass, "unit") {
    static const char *const fills[] = {"single", "normal", "positive", "exact"};
    char text[ASSAY_CASE_TEXT], reason[ASSAY_REASON];
    for (size_t s = 0; s < sizeof right / sizeof *right; ++s)
        for (int i = 0; i < LENGTHS; ++i)
            for (int f = 0; f < 4; ++f)
                for (int seed = 0; seed < (lengths[i] > 4096 ? 1 : SEEDS); ++seed) {
                    case_of(lengths[i], fills[f], seed, text);
                    CHECK_MSG(verdict_of(&right[s], text, reason) != ASSAY_FAIL, "%s: %s: %s",
                              right[s].name, text, reason);
                }
}

ASSAY_TEST(strict_fp32, fewer_digits_fail_at_every_length, "unit smoke") {
    char text[ASSAY_CASE_TEXT], reason[ASSAY_REASON];
    for (size_t s = 0; s < sizeof wrong / sizeof *wrong; ++s)
        for (int i = 0; i < LENGTHS; ++i) {
            bool found = false;
            for (int seed = 0; !found && seed < SEEDS; ++seed) {
                case_of(lengths[i], "single", seed, text);
                found = verdict_of(&wrong[s], text, reason) == ASSAY_FAIL;
            }
            CHECK_MSG(found, "%s: not found at k=%d", wrong[s].name, lengths[i]);
        }
}

/* On random data, within the bound of each element: what only the tensor as a whole shows. */
ASSAY_TEST(strict_fp32, a_whole_tensor_is_held_to_a_chain, "unit smoke") {
    char text[ASSAY_CASE_TEXT], reason[ASSAY_REASON];
    for (int k = 1024; k <= 2048; k *= 2) {
        snprintf(text, sizeof text, "matmul_accumulate m=80 n=4 k=%d dtype=f32", k);
        CHECK_MSG(verdict_of(&right[2], text, reason) == ASSAY_PASS, "%s", reason);
        CHECK(verdict_of(&wrong[0], text, reason) == ASSAY_FAIL);
        CHECK_MSG(strstr(reason, "as a whole off"), "k=%d: %s", k, reason);
    }
}
