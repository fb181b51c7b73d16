/*
 * The arithmetic of a linear filter, as a GPU has it: weights in fixed point, and sums of aligned
 * elements.
 */
#ifndef ASSAY_SIM_TEXTURE_FILTER_H
#define ASSAY_SIM_TEXTURE_FILTER_H

#include <stdint.h>

enum {
    FILTER_ONE = 256,   /* a weight of 1: weights have 8 bits behind the point */
    FILTER_CORNERS = 8, /* of a cell: bits 0, 1, 2 of a corner's number are for x, y, z */
};

/*
 * The weights of the corners of a cell, for fractions of 1/256 in x, y and z. They are the weights
 * that an H200 gives a single element of 1 among zeros: all 65,536 in two dimensions, 262,144 in
 * three. Each is rounded to 8 bits such that all together are 1: z and x divide 1, then y divides
 * each quarter. Half goes to the larger x, and of the smaller x to the smaller y.
 */
void filter_weights(const int32_t fraction[3], int32_t weight[FILTER_CORNERS]);

/* The sum of weighted elements. Inf and NaN count as in a sum of fp32; elements without weight do
 * not. */
float filter_mean(const float texel[FILTER_CORNERS], const int32_t weight[FILTER_CORNERS]);

#endif
