/*
 * What Frama-C's Eva shows of the comparison, core/compare.c, for four elements and all values of
 * its arguments: nothing undefined happens, and a NaN is right only where the oracle has one, in
 * whichever of the three numbers it is. Eva (https://frama-c.com) follows sets of values, so what
 * it shows holds for each of them; tests/proofs/frama_c_test.sh runs it, on this and on comparisons
 * that are wrong.
 */
#include "core/compare.c"

#include <__fc_builtin.h>
#include <float.h>

enum { MOST = 4 }; /* elements: a step of the loop is the same for each */
static double got[MOST], want[MOST], bound[MOST];
static bool nan_too[MOST];

static double any(void) {
    double v;
    Frama_C_make_unknown((char *)&v, sizeof v);
    return v;
}

static double number(void) {
    return Frama_C_double_interval(-DBL_MAX, DBL_MAX);
}

int main(void) {
    const assay_dtype dtype = (assay_dtype)Frama_C_interval(ASSAY_F64, ASSAY_F16);
    const int64_t count = Frama_C_interval(-1, MOST);
    Frama_C_make_unknown((char *)got, sizeof got);
    Frama_C_make_unknown((char *)want, sizeof want);
    Frama_C_make_unknown((char *)bound, sizeof bound);
    for (int i = 0; i < MOST; ++i)
        nan_too[i] = Frama_C_interval(0, 1) != 0;
    (void)compare(
        (arguments){dtype, got, want, bound, nan_too, Frama_C_interval(0, 1) != 0, count});
    (void)assay_compare(dtype, got, want, bound, count);

    comparison of_nan = compare_element(dtype, NAN, number(), any());
    //@ check a_result_of_nan: of_nan.right == 0;
    of_nan = compare_element(dtype, NAN, INFINITY, any());
    //@ check a_result_of_nan_for_infinity: of_nan.right == 0;
    of_nan = compare_element(dtype, number(), NAN, any());
    //@ check a_number_for_nan: of_nan.right == 0;
    of_nan = compare_element(dtype, number(), number(), NAN);
    //@ check a_bound_of_nan: of_nan.right == 0;
    const bool none = lacks_bound(number(), NAN) && lacks_bound(number(), INFINITY);
    //@ check no_bound: none == 1;
    return 0;
}
