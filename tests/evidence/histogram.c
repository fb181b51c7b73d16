#include "tests/evidence/histogram.h"

#include <math.h>

double histogram_value(int32_t bin) {
    return exp2(HISTOGRAM_LOW + (double)bin / HISTOGRAM_OCTAVE);
}

void histogram_add(histogram *h, double value) {
    const double place = round((log2(value) - HISTOGRAM_LOW) * HISTOGRAM_OCTAVE);
    ++h->count;
    if (!(value <= h->largest))
        h->largest = isnan(value) ? INFINITY : value;
    if (!(place < HISTOGRAM_BINS)) /* a NaN's place is one, too */
        ++h->beyond;
    else if (place < 0)
        ++h->zeros;
    else
        ++h->bin[(int32_t)place];
}

void histogram_merge(histogram *to, const histogram *from) {
    to->count += from->count;
    to->zeros += from->zeros;
    to->beyond += from->beyond;
    to->largest = fmax(to->largest, from->largest);
    for (int32_t b = 0; b < HISTOGRAM_BINS; ++b)
        to->bin[b] += from->bin[b];
}

double histogram_quantile(const histogram *h, double share) {
    const double wanted = ceil(share * (double)h->count);
    int64_t seen = h->zeros;
    if ((double)seen >= wanted)
        return 0;
    for (int32_t b = 0; b < HISTOGRAM_BINS; ++b) {
        seen += h->bin[b];
        if ((double)seen >= wanted)
            return fmin(histogram_value(b), h->largest);
    }
    return INFINITY;
}

int64_t histogram_positive(const histogram *h) {
    return h->count - h->zeros;
}
