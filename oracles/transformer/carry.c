#include "oracles/transformer/carry.h"

#include <math.h>

transformer_rule transformer_rule_of(const assay_params *adamw, double u) {
    const int64_t step = assay_params_int(adamw, "step");
    transformer_rule k = {.lr = assay_params_find(adamw, "lr")->real,
                          .wd = assay_params_find(adamw, "wd")->real,
                          .beta1 = assay_params_find(adamw, "beta1")->real,
                          .beta2 = assay_params_find(adamw, "beta2")->real,
                          .eps = assay_params_find(adamw, "eps")->real};
    k.u = u;
    k.correction1 = 1 - pow(k.beta1, (double)step);
    k.correction2 = 1 - pow(k.beta2, (double)step);
    const double q = k.beta1 * k.beta1 / k.beta2;
    const double sum = (1 - pow(q, (double)step)) / (1 - q);
    k.most = (1 - k.beta1) / k.correction1 * sqrt(sum * k.correction2 / (1 - k.beta2));
    return k;
}

static double update(const transformer_rule *k, double m, double v) {
    return k->lr * (m / k->correction1) / (sqrt(fmax(v, 0) / k->correction2) + k->eps);
}

/* Roundings on the way to an update, adamw's own: 12 of it, 5 of m, half of 5 of v. They are of
 * the update that a kernel makes, which may be much larger than the exact one. */
enum { ROUNDINGS = 20 };

static double update_error(const transformer_rule *k, double m, double of_m, double v,
                           double of_v) {
    const double exact = update(k, m, v);
    double worst = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
        worst = fmax(worst, fabs(update(k, m + sign * of_m, v - of_v) - exact));
        worst = fmax(worst, fabs(update(k, m + sign * of_m, v + of_v) - exact));
    }
    const double most = k->lr * k->most;
    const double rounded = ROUNDINGS * k->u * fmin(fabs(exact) + worst, most);
    return fmin(worst, fabs(exact) + most) + rounded;
}

transformer_errors transformer_carry(const transformer_rule *k, transformer_errors before, double g,
                                     double of_g, double m, double v, transformer_errors own) {
    transformer_errors e = {.m = k->beta1 * before.m + (1 - k->beta1) * of_g + own.m};
    e.v = k->beta2 * before.v + (1 - k->beta2) * of_g * (2 * fabs(g) + of_g) + own.v;
    e.p = before.p * fabs(1 - k->lr * k->wd) + update_error(k, m, e.m, v, e.v) + own.p;
    return e;
}
