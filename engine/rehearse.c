#include "engine/rehearse.h"

#include <string.h>

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void rehearse_scramble(assay_rng *rng, const double *from, double *to, int64_t count) {
    int64_t step = count > 1 ? assay_rng_between(rng, 1, count - 1) : 1;
    int64_t at = count > 1 ? assay_rng_between(rng, 1, count - 1) : 0;
    while (common_divisor(step, count) != 1)
        ++step;
    for (int64_t e = 0; e < count; ++e, at = (at + step) % count)
        to[e] = from[at];
}

void rehearse_touch(assay_rng *rng, const double *from, double *to, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
    if (count < 2)
        return;
    const int64_t a = assay_rng_between(rng, 0, count - 1);
    const int64_t b = (a + assay_rng_between(rng, 1, count - 1)) % count;
    to[a] = from[b];
    to[b] = from[a];
}
