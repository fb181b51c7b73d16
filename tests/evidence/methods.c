#include "tests/evidence/methods.h"
#include "assay/compare.h"
#include "engine/baseline.h"

#include <math.h>

const char *method_name(method m) {
    static const char *const names[METHODS] = {"assay", "allclose 1e-2", "allclose 1e-4",
                                               "NMSE 1e-7", "assert_close"};
    return names[m];
}

static bool assay_rejects(const subject *s) {
    if (assay_compare(s->dtype, s->got, s->want, s->bound, s->count).verdict == ASSAY_FAIL)
        return true;
    return s->baseline && !baseline_compare(s->dtype, s->got, s->baseline, s->want, s->bound, NULL,
                                            s->count, s->rows, s->share)
                               .kept;
}

/* Equal infinities are close; NaN is close to nothing. */
static bool allclose_rejects(const subject *s, double rtol, double atol) {
    for (int64_t i = 0; i < s->count; ++i) {
        const double got = s->got[i], want = s->stored[i];
        if (got != want && !(fabs(got - want) <= atol + rtol * fabs(want)))
            return true;
    }
    return false;
}

/* A NaN counts as rejected: ggml looks for them before. */
static bool nmse_rejects(const subject *s, double limit) {
    double error = 0, power = 0;
    for (int64_t i = 0; i < s->count; ++i) {
        error += (s->got[i] - s->stored[i]) * (s->got[i] - s->stored[i]);
        power += s->stored[i] * s->stored[i];
    }
    return !(error <= limit * power);
}

static bool assert_close_rejects(const subject *s) {
    static const struct {
        double rtol, atol;
    } defaults[ASSAY_DTYPES] = {[ASSAY_F64] = {1e-7, 1e-7},
                                [ASSAY_F32] = {1.3e-6, 1e-5},
                                [ASSAY_BF16] = {1.6e-2, 1e-5},
                                [ASSAY_F16] = {1e-3, 1e-5}};
    return allclose_rejects(s, defaults[s->dtype].rtol, defaults[s->dtype].atol);
}

bool method_rejects(method m, const subject *s) {
    switch (m) {
    case METHOD_ASSAY:
        return assay_rejects(s);
    case METHOD_ALLCLOSE_2:
        return allclose_rejects(s, 1e-2, 1e-2);
    case METHOD_ALLCLOSE_4:
        return allclose_rejects(s, 1e-4, 1e-4);
    case METHOD_NMSE:
        return nmse_rejects(s, 1e-7);
    case METHOD_ASSERT_CLOSE:
        return assert_close_rejects(s);
    }
    return true;
}
