/* The quantile function of N(0, 1), the same bits on every host. */
#ifndef ASSAY_CORE_NORMAL_H
#define ASSAY_CORE_NORMAL_H

/* z with P(Z <= z) = p, for p in (0, 1). */
double assay_normal_quantile(double p);

#endif
