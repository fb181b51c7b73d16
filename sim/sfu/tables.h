/* The tables of the special function unit: for each function a quadratic for each segment. */
#ifndef ASSAY_SIM_SFU_TABLES_H
#define ASSAY_SIM_SFU_TABLES_H

#include <stdint.h>

typedef struct sfu_segment {
    int32_t c0, c1, c2;
} sfu_segment;

/* Of [1, 2) 128 segments; of [1, 2) and then [2, 4) 64 each; of a fraction 64, and of a quarter
 * turn. tanh: some of each binade from 2^-8 to 8. */
extern const sfu_segment sfu_rcp_segments[], sfu_rsqrt_segments[], sfu_sqrt_segments[],
    sfu_ex2_segments[], sfu_lg2_segments[], sfu_sin_segments[], sfu_tanh_segments[];

#endif
