/*
 * The special function unit of NVIDIA's GPUs, bit for bit: the results of MUFU, and ptxas's code
 * for the instructions of PTX that approximate. All 2^32 inputs of each function have the bits of
 * an H200 (tests/sim/sfu_test.c). Floats go in and out as their bits.
 */
#ifndef ASSAY_SIM_SFU_SFU_H
#define ASSAY_SIM_SFU_SFU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sfu_function {
    SFU_EX2,
    SFU_LG2,
    SFU_RCP,
    SFU_RSQRT,
    SFU_SQRT,
    SFU_SIN,
    SFU_COS,
    SFU_TANH,
} sfu_function;

/* f.approx.f32 and f.approx.ftz.f32. The unit takes a subnormal for a zero and gives zeros for
 * them: without ftz, ptxas scales around it. sin, cos: x / 2 pi is rounded toward zero first. */
uint32_t sfu_f32(sfu_function f, uint32_t x, bool ftz);

/* div.approx.f32 and div.full.f32. */
uint32_t sfu_divide(uint32_t a, uint32_t b, bool full, bool ftz);

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64, which read and give the upper words alone. */
uint32_t sfu_f64(sfu_function f, uint32_t upper);

/* rsqrt.approx.f64: that start, and the steps after it. */
double sfu_rsqrt_f64(double x);

#ifdef __cplusplus
}
#endif

#endif
