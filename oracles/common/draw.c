#include "oracles/common/draw.h"

int64_t draw_extent(assay_rng *rng, int64_t high) {
    if (high < 2)
        return 1;
    const int64_t extent = assay_rng_log_between(rng, 1, high);
    if (assay_rng_between(rng, 0, 1) == 0)
        return extent;
    int64_t power = 1;
    while (power <= extent / 2)
        power *= 2;
    const int64_t beside = power + assay_rng_between(rng, -1, 1);
    return beside < 1 ? 1 : beside > high ? high : beside;
}
