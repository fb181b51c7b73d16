/*
 * How positive numbers spread over many orders of magnitude, in a fixed size, so that processes can
 * share one and add theirs together: 16 bins to an octave, which is 2 % to each side.
 */
#ifndef ASSAY_EVIDENCE_HISTOGRAM_H
#define ASSAY_EVIDENCE_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_OCTAVE = 16, HISTOGRAM_LOW = -64, HISTOGRAM_HIGH = 32 };
enum { HISTOGRAM_BINS = (HISTOGRAM_HIGH - HISTOGRAM_LOW) * HISTOGRAM_OCTAVE + 1 };

/* Bin b holds the values nearest to histogram_value(b), in the logarithm. Zeros and values smaller
 * than any bin, infinities, NaNs and larger values have a place of their own. */
typedef struct histogram {
    int64_t count, zeros, beyond;
    double largest; /* of all; infinite with `beyond` */
    int64_t bin[HISTOGRAM_BINS];
} histogram;

double histogram_value(int32_t bin);
void histogram_add(histogram *h, double value);
void histogram_merge(histogram *to, const histogram *from);

/* The smallest value that at least that share of all numbers does not exceed; 0 of none. */
double histogram_quantile(const histogram *h, double share);

/* How many of them were not 0: of answers that are 0 or 1, how often it was yes. */
int64_t histogram_positive(const histogram *h);

#endif
