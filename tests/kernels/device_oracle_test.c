/* An oracle on a device gives what the CPU's gives: the same answers as far as fp64 goes, and the
 * same bounds. */
#include "assay/compare.h"
#include "engine/random.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <math.h>
#include <string.h>

static const double same_bound = 1e-9; /* relative; bounds are sums of fp64 roundings too */

static void compare_bounds(const char *of, const char *tensor, const double *got,
                           const double *want, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
        const bool same = got[e] == want[e] || (!isfinite(got[e]) && !isfinite(want[e]));
        if (!same && !(fabs(got[e] - want[e]) <= same_bound * want[e]))
            assay_test_abort(__FILE__, __LINE__, "%s: %s: bound %lld is %.17g, the CPU's %.17g", of,
                             tensor, (long long)e, got[e], want[e]);
    }
}

/* fp64's bounds are none where a cotangent is Inf: then no verdict tells NaN from a number. */
static void compare_kinds(const char *of, const char *tensor, const double *got, const double *want,
                          int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        if (isfinite(got[e]) != isfinite(want[e]))
            assay_test_abort(__FILE__, __LINE__, "%s: %s: element %lld is %.17g, the CPU's %.17g",
                             of, tensor, (long long)e, got[e], want[e]);
}

static void compare(const char *of, const assay_tensor_spec *specs, const assay_arrays *got,
                    const assay_arrays *want, const assay_arrays *bound, const assay_bounds *fp64,
                    const assay_arrays *want_bound) {
    for (int32_t i = 0; i < want->count; ++i) {
        if (!want->data[i])
            continue;
        const assay_comparison cmp = assay_compare(ASSAY_F64, got->data[i], want->data[i],
                                                   fp64->element.data[i], want->size[i]);
        CHECK_MSG(cmp.verdict != ASSAY_FAIL,
                  "%s: %s: element %lld is %.17g, the CPU's %.17g, ratio %g", of, specs[i].name,
                  (long long)cmp.worst, cmp.got, cmp.want, cmp.ratio);
        compare_kinds(of, specs[i].name, got->data[i], want->data[i], want->size[i]);
        compare_bounds(of, specs[i].name, bound->data[i], want_bound->data[i], want->size[i]);
    }
}

/* `infinite`: a cotangent is Inf, which no fill makes it. */
static void compare_with_cpu(const assay_case *c, const assay_device *device, bool infinite) {
    const assay_device_oracle *oracle = assay_device_oracle_find(device, c->op);
    assay_problem p;
    assay_reference got, want, fp64;
    char text[ASSAY_CASE_TEXT];
    assay_case_format(c, text);
    REQUIRE(oracle != NULL);
    REQUIRE_OK(assay_problem_init(&p, c));
    if (infinite && p.cot.data[0] && p.cot.size[0] > 0)
        p.cot.data[0][c->seed % (uint64_t)p.cot.size[0]] = INFINITY;
    REQUIRE_OK(assay_reference_init(&want, &p));
    REQUIRE_OK(assay_reference_init_as(&fp64, &p, ASSAY_F64));
    REQUIRE_OK(assay_reference_init_by(&got, &p, device, oracle));
    compare(text, p.sig.out, &got.want.out, &want.want.out, &got.out_bound.element, &fp64.out_bound,
            &want.out_bound.element);
    compare(text, p.sig.in, &got.want.grad, &want.want.grad, &got.grad_bound.element,
            &fp64.grad_bound, &want.grad_bound.element);
    assay_reference_clear(&got);
    assay_reference_clear(&want);
    assay_reference_clear(&fp64);
    assay_problem_clear(&p);
}

static void run(void *context) {
    const suite_item *item = context;
    compare_with_cpu(&item->c, suite_device(item), false);
}

/* Once for all variants. All is fp64: a dtype is a rounding of inputs, and a factor of bounds. On
 * the simulated device one dtype takes the shapes of ci, and every dtype those of smoke. */
static bool worth_running(const suite_item *item) {
    return !item->simulated || item->set == ASSAY_SMOKE || item->c.params.dtype == ASSAY_F32;
}

static void add(const suite_item *item) {
    const assay_device *sim = NULL; /* has every oracle that there is */
    REQUIRE_OK(assay_device_open("sim", &sim));
    if (strcmp(item->variant, "v1") != 0 || !worth_running(item) ||
        !assay_device_oracle_find(sim, item->c.op))
        return;
    suite_item of_oracle = *item;
    of_oracle.variant[0] = '\0';
    suite_register("device_oracle", "", "oracle", &of_oracle, run);
}

__attribute__((constructor)) static void register_device_oracles(void) {
    /* The smoke cases have every access. */
    suite_visit("device_oracle", ASSAY_SMOKE, SUITE_INSTRUMENTED ? ASSAY_SMOKE : ASSAY_CI, add);
}

#if !defined(ASSAY_INSTRUMENTED) /* the accesses are those of the cases above */
/* Small cases, so that most rows hide some keys from a query, and some all, or have one alone; half
 * of them of data that are not finite. */
ASSAY_TEST(device_oracle, gives_what_the_cpu_gives_in_random_cases, "unit oracle") {
    enum { CASES = 300, TINY = 150 };
    static const assay_fill not_finite[] = {ASSAY_FILL_INF, ASSAY_FILL_NAN};
    const assay_device *sim = NULL;
    REQUIRE_OK(assay_device_open("sim", &sim));
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        random_wish wish = random_any(op);
        wish.budget = TINY;
        for (int64_t index = 0; assay_device_oracle_find(sim, op) && index < CASES; ++index) {
            assay_case c;
            REQUIRE_OK(random_case(op, &wish, 1, index, &c));
            if (index % 2 == 1)
                c.fill = not_finite[index / 2 % 2];
            compare_with_cpu(&c, sim, index % 4 == 2);
        }
    }
}
#endif
