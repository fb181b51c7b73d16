#include "tests/evidence/mode.h"

/* TF32 is a mode of f32 alone. */
static bool exists(const assay_op *op, int dtype, int math) {
    return (op->dtypes & ASSAY_DTYPE_BIT(dtype)) != 0 && (op->maths & ASSAY_MATH_BIT(math)) != 0 &&
           (math == ASSAY_STRICT || dtype == ASSAY_F32);
}

assay_status modes_add(modes *m, const assay_op *op) {
    for (int dtype = 0; dtype < ASSAY_DTYPES; ++dtype) {
        for (int math = ASSAY_STRICT; math <= ASSAY_TF32; ++math) {
            if (!exists(op, dtype, math))
                continue;
            if (m->count == MOST_MODES)
                return assay_fail(ASSAY_ERR_USAGE, "more than %d modes: name fewer operators",
                                  MOST_MODES);
            m->mode[m->count++] = (mode){op, (assay_dtype)dtype, (assay_math)math};
        }
    }
    return ASSAY_OK;
}

bool mode_is(const mode *m, const assay_case *c) {
    return c->op == m->op && c->params.dtype == m->dtype && c->params.math == m->math;
}
