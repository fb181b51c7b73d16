/*
 * The oracles themselves: CBLAS path against the plain loops, backward against forward, and the
 * promise of the exact tier. Random tiny cases of every operator, and the smoke cases where the
 * plain loops can afford them.
 */
#include "assay/compare.h"
#include "oracles/common/bound.h"
#include "oracles/common/gradcheck.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 20, TINY = 400, SIGN_DIRECTIONS = 8 };
static const double rounding_only = 1e-12; /* see gradcheck.h: multilinear operators */
/* The others: entries of the Jacobian, of which a row of small values shows the step's truncation,
 * and projections, where the same change is spread over all terms. */
static const double smooth_entry = 1e-7, smooth_projection = 5e-10;

/* A random tiny fp64 case, the same for the same index. */
static assay_case draw(const assay_op *op, uint64_t index) {
    assay_rng rng = {.seed = index, .stream = assay_rng_stream(op->name)};
    assay_case c = {.op = op, .fill = ASSAY_FILL_NORMAL, .seed = index};
    assay_params_init(op, &c.params);
    c.params.dtype = ASSAY_F64;
    op->draw(&rng, TINY, &c.params);
    REQUIRE_OK(op->legal(&c.params));
    return c;
}

/* ---- CBLAS against plain loops ---- */

static void compare_all(const assay_case *c, const assay_tensor_spec *specs,
                        const assay_arrays *plain, const assay_arrays *blas,
                        const assay_bounds *bounds) {
    char text[ASSAY_CASE_TEXT];
    for (int32_t i = 0; i < blas->count; ++i) {
        if (!blas->data[i])
            continue;
        const assay_comparison cmp = assay_compare(ASSAY_F64, plain->data[i], blas->data[i],
                                                   bounds->element.data[i], blas->size[i]);
        CHECK_MSG(cmp.verdict != ASSAY_FAIL, "%s: %s: loops give %.17g, CBLAS %.17g, ratio %g",
                  assay_case_format(c, text), specs[i].name, cmp.got, cmp.want, cmp.ratio);
    }
}

static void compare_twins(const assay_case *c) {
    assay_problem p;
    assay_reference ref;
    assay_results plain;
    REQUIRE_OK(assay_problem_init(&p, c));
    REQUIRE_OK(assay_reference_init_as(&ref, &p, ASSAY_F64));
    REQUIRE_OK(assay_results_init(&plain, &p.sig));
    assay_oracle_args args = {.params = &p.c.params, .sig = &p.sig, .in = &p.in};
    REQUIRE_OK(c->op->forward_plain(&args, &plain.out));
    args.out = &plain.out;
    args.cot = &p.cot;
    if (c->op->backward)
        REQUIRE_OK(c->op->backward_plain(&args, &plain.grad));
    compare_all(c, p.sig.out, &plain.out, &ref.want.out, &ref.out_bound);
    compare_all(c, p.sig.in, &plain.grad, &ref.want.grad, &ref.grad_bound);
    assay_results_clear(&plain);
    assay_reference_clear(&ref);
    assay_problem_clear(&p);
}

/* The plain loops of these take a way on which an Inf may become a NaN. */
static bool takes_another_way(const assay_op *op) {
    static const char *const names[] = {"kronecker", "softmax", "adamw"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(op->name, names[i]) == 0)
            return true;
    return false;
}

static void run_twins(void *context) {
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_INF, ASSAY_FILL_NAN};
    const int n_fills = takes_another_way(context) ? 1 : 3;
    for (uint64_t i = 0; i < DRAWS; ++i)
        for (int f = 0; f < n_fills; ++f) {
            assay_case c = draw(context, i);
            c.fill = fills[f];
            compare_twins(&c);
        }
}

/* Random data have none. */
ASSAY_TEST(oracle, equal_elements_share_or_the_first_has_all, "unit smoke reduce") {
    static const char *const texts[] = {
        "reduce n=7x50 axes=1 kind=max first=0 dtype=f64 fill=repeat",
        "reduce n=7x50 axes=1 kind=max first=1 dtype=f64 fill=repeat"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(texts[i], &c));
        compare_twins(&c);
    }
}

/* Weights of 1e-160, and gradients that begin so small, have errors whose squares fp64 lacks. */
ASSAY_TEST(oracle, tiny_results_keep_their_errors, "unit smoke attention transformer") {
    static const char *const texts[] = {
        "attention b=1 h=1 sq=3 sk=100 d=64 exponent=8",
        "attention b=1 h=1 sq=90 sk=90 d=96 causal=1 exponent=7",
        "transformer size=tiny b=1 t=3 vocab=3 d=4 ff=3 heads=1 exponent=-300 seed=17"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assay_case c;
        REQUIRE_OK(assay_case_parse(texts[i], &c));
        c.params.dtype = ASSAY_F64;
        compare_twins(&c);
    }
}

/* ---- forward alone ---- */

/* Nothing is said of gradients then, not even that they may be NaN. */
static assay_status answer_forward(const assay_case *c, void *context) {
    assay_case alone = *c;
    assay_problem p;
    assay_reference ref;
    (void)context;
    if (c->fill != ASSAY_FILL_INF && c->fill != ASSAY_FILL_NAN)
        return ASSAY_OK;
    alone.forward_only = true;
    REQUIRE_OK(assay_problem_init(&p, &alone));
    REQUIRE_OK(assay_reference_init(&ref, &p));
    for (int32_t i = 0; i < ref.want.grad.count; ++i)
        CHECK(!ref.want.grad.data[i] && !ref.grad_bound.nan_too[i]);
    assay_reference_clear(&ref);
    assay_problem_clear(&p);
    return ASSAY_OK;
}

static void run_forward_alone(void *context) {
    REQUIRE_OK(assay_op_visit_set(context, ASSAY_SMOKE, answer_forward, NULL));
}

/* ---- backward against forward ---- */

typedef assay_status (*checker)(const gradcheck *g, double *worst);

static assay_status directions(const gradcheck *g, double *worst) {
    return gradcheck_directions(g, SIGN_DIRECTIONS, worst);
}

static double limit_of(const assay_op *op, checker check) {
    if (op->multilinear)
        return rounding_only;
    return check == gradcheck_jacobian ? smooth_entry : smooth_projection;
}

static double worst_of(const assay_case *c, assay_oracle backward, checker check) {
    assay_problem p;
    double worst;
    REQUIRE_OK(assay_problem_init(&p, c));
    const gradcheck g = {.problem = &p, .forward = c->op->forward, .backward = backward};
    REQUIRE_OK(check(&g, &worst));
    assay_problem_clear(&p);
    return worst;
}

static void check_draws(const assay_op *op, checker check) {
    char text[ASSAY_CASE_TEXT];
    for (uint64_t i = 0; i < DRAWS; ++i) {
        const assay_case c = draw(op, i);
        const double worst = worst_of(&c, op->backward, check);
        CHECK_MSG(worst <= limit_of(op, check), "%s: backward is off by %.3g",
                  assay_case_format(&c, text), worst);
    }
}

static void run_jacobian(void *context) {
    check_draws(context, gradcheck_jacobian);
}

static void run_directions(void *context) {
    check_draws(context, directions);
}

static void run_adjoint(void *context) {
    check_draws(context, gradcheck_adjoint);
}

/* ---- wrong backwards are found ---- */

/* The operator's own backward with one fault. */
static assay_oracle right_backward;

static int32_t first_present(const assay_arrays *arrays) {
    int32_t i = 0;
    while (!arrays->data[i])
        ++i;
    return i;
}

static int32_t last_present(const assay_arrays *arrays) {
    int32_t i = arrays->count - 1;
    while (!arrays->data[i])
        --i;
    return i;
}

static assay_status off_by_a_millionth(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right_backward(args, result);
    for (int32_t t = 0; t < result->count; ++t)
        for (int64_t e = 0; result->data[t] && e < result->size[t]; ++e)
            result->data[t][e] *= 1 + 1e-6;
    return status;
}

/* The largest: others may be 0, as where no token has a row of a table. */
static assay_status one_element_off(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right_backward(args, result);
    const int32_t last = last_present(result);
    double *gradient = result->data[last];
    int64_t largest = 0;
    for (int64_t e = 1; e < result->size[last]; ++e)
        largest = fabs(gradient[e]) > fabs(gradient[largest]) ? e : largest;
    gradient[largest] *= 1.03;
    return status;
}

static assay_status ignores_cotangent(const assay_oracle_args *args, assay_arrays *result) {
    assay_arrays ones;
    REQUIRE_OK(assay_arrays_init(&ones, args->cot->count));
    for (int32_t t = 0; t < ones.count; ++t) {
        if (!args->cot->data[t])
            continue;
        REQUIRE_OK(assay_arrays_add(&ones, t, args->cot->size[t]));
        for (int64_t e = 0; e < ones.size[t]; ++e)
            ones.data[t][e] = 1;
    }
    assay_oracle_args blind = *args;
    blind.cot = &ones;
    const assay_status status = right_backward(&blind, result);
    assay_arrays_clear(&ones);
    return status;
}

static assay_status last_gradient_missing(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right_backward(args, result);
    const int32_t last = last_present(result);
    memset(result->data[last], 0, (size_t)result->size[last] * sizeof(double));
    return status;
}

static assay_status returns_nan(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = right_backward(args, result);
    const int32_t first = first_present(result);
    result->data[first][result->size[first] - 1] = NAN;
    return status;
}

static void run_wrong_backwards(void *context) {
    static const struct {
        const char *name;
        assay_oracle backward;
    } wrong[] = {{"off by 1e-6", off_by_a_millionth},
                 {"one element 3 % off", one_element_off},
                 {"ignores the cotangent", ignores_cotangent},
                 {"last gradient zero", last_gradient_missing},
                 {"a NaN", returns_nan}};
    static const struct {
        const char *name;
        checker check;
    } checks[] = {{"jacobian", gradcheck_jacobian},
                  {"directions", directions},
                  {"adjoint", gradcheck_adjoint}};
    const assay_op *op = context;
    right_backward = op->backward;
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; ++w) {
        for (size_t k = 0; k < sizeof checks / sizeof *checks; ++k) {
            int caught = 0;
            char missed[ASSAY_CASE_TEXT] = "";
            for (uint64_t i = 0; i < DRAWS; ++i) {
                const assay_case c = draw(op, i);
                const double worst = worst_of(&c, wrong[w].backward, checks[k].check);
                const bool found = !(worst <= limit_of(op, checks[k].check));
                caught += found;
                if (!found)
                    assay_case_format(&c, missed);
            }
            CHECK_MSG(caught == DRAWS,
                      "a backward with %s passed the %s check in %d of %d cases, as %s",
                      wrong[w].name, checks[k].name, DRAWS - caught, DRAWS, missed);
        }
    }
}

/* ---- the exact tier keeps its promise ---- */

/* The same sums over absolute values stay within what the accumulator counts exactly. */
static assay_status check_exact_case(const assay_case *c, void *context) {
    (void)context;
    if (c->fill != ASSAY_FILL_EXACT)
        return ASSAY_OK;
    const double limit = ldexp(1.0, c->params.dtype == ASSAY_F64 ? 53 : 24);
    const assay_rounding absolute = {0}; /* nothing random: M is the sum of absolute values */
    assay_problem p;
    assay_results magnitude;
    REQUIRE_OK(assay_problem_init(&p, c));
    REQUIRE_OK(assay_results_init(&magnitude, &p.sig));
    assay_oracle_args args = {.params = &p.c.params, .sig = &p.sig, .in = &p.in};
    REQUIRE_OK(assay_magnitudes(&args, &absolute, c->op->forward, &magnitude.out));
    args.cot = &p.cot;
    args.out = &magnitude.out;
    if (c->op->backward)
        REQUIRE_OK(assay_magnitudes(&args, &absolute, c->op->backward, &magnitude.grad));
    const assay_arrays *groups[] = {&magnitude.out, &magnitude.grad};
    for (int g = 0; g < 2; ++g)
        for (int32_t i = 0; i < groups[g]->count; ++i)
            for (int64_t e = 0; groups[g]->data[i] && e < groups[g]->size[i]; ++e)
                REQUIRE(groups[g]->data[i][e] <= limit);
    assay_results_clear(&magnitude);
    assay_problem_clear(&p);
    return ASSAY_OK;
}

static void run_exact(void *context) {
    REQUIRE_OK(assay_op_visit_set(context, ASSAY_CI, check_exact_case, NULL));
}

__attribute__((constructor)) static void register_oracle_tests(void) {
    static const struct {
        const char *name;
        void (*run)(void *op);
        bool of_backward;
    } tests[] = {{"blas_is_plain_loops", run_twins, false},
                 {"forward_alone", run_forward_alone, true},
                 {"full_jacobian", run_jacobian, true},
                 {"sign_directions", run_directions, true},
                 {"adjoint_identity", run_adjoint, true},
                 {"wrong_backwards_are_found", run_wrong_backwards, true},
                 {"exact_sums_fit", run_exact, false}};
    char labels[64], name[96];
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        snprintf(labels, sizeof labels, "unit smoke %s", op->name);
        for (size_t t = 0; t < sizeof tests / sizeof *tests; ++t) {
            if (tests[t].of_backward && !op->backward)
                continue;
            snprintf(name, sizeof name, "%s.%s", op->name, tests[t].name);
            assay_test_register("oracle", name, labels, tests[t].run, (void *)(uintptr_t)op);
        }
    }
}
