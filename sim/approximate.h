/*
 * The functions that CUDA approximates in fp32, as nvcc compiles them: around the special function
 * unit, bit for bit (sim/sfu/sfu.h). Other functions of the C library (sinf, powf, ...) are the
 * host's here.
 */
#ifndef ASSAY_SIM_APPROXIMATE_H
#define ASSAY_SIM_APPROXIMATE_H

#include "sim/sfu/sfu.h"

SIM_INLINE float sim_unit(sfu_function f, float a, bool ftz = false) {
    return sim_value<float>(sfu_f32(f, (uint32_t)sim_bits(a), ftz));
}

SIM_INLINE float rsqrtf(float a) {
    return sim_unit(SFU_RSQRT, a);
}
SIM_INLINE double rsqrt(double a) {
    return sfu_rsqrt_f64(a);
}
SIM_INLINE float __fdividef(float a, float b) {
    return sim_value<float>(sfu_divide((uint32_t)sim_bits(a), (uint32_t)sim_bits(b), false, false));
}
SIM_INLINE float sim_fast_expf(float a) {
    return sim_unit(SFU_EX2, a * 0x1.715476p+0f);
}
SIM_INLINE float sim_fast_exp10f(float a) {
    return sim_unit(SFU_EX2, a * 0x1.a934fp+1f);
}
SIM_INLINE float sim_fast_log2f(float a) {
    return sim_unit(SFU_LG2, a);
}
SIM_INLINE float sim_fast_logf(float a) {
    return sim_unit(SFU_LG2, a) * 0x1.62e43p-1f;
}
SIM_INLINE float sim_fast_log10f(float a) {
    return sim_unit(SFU_LG2, a) * 0x1.344136p-2f;
}
SIM_INLINE float sim_fast_powf(float a, float b) {
    return sim_unit(SFU_EX2, b * sim_unit(SFU_LG2, a));
}
SIM_INLINE float sim_fast_sinf(float a) {
    return sim_unit(SFU_SIN, a);
}
SIM_INLINE float sim_fast_cosf(float a) {
    return sim_unit(SFU_COS, a);
}
SIM_INLINE float sim_fast_tanf(float a) {
    return __fdividef(sim_fast_sinf(a), sim_fast_cosf(a));
}

/* 2^n 2^r, n being the whole number nearest to a / ln 2, which is held to [-126, 126]. */
SIM_INLINE float sim_expf(float a) {
    const float part = fmaf(a, 0x1.77313ap-8f, 0.5f); /* a / (252 ln 2) + 1/2 */
    const float held = part > 0.0f ? part < 1.0f ? part : 1.0f : 0.0f;
    /* A fused multiply-add rounded down: n lies in its low bits. */
    const float shifted = (float)(floor((double)held * 252.0) + 12582913.0);
    const float n = shifted - 12583039.0f;
    const float r = fmaf(a, 0x1.4ae0cp-26f, fmaf(a, 0x1.715476p+0f, -n));
    return sim_unit(SFU_EX2, r, true) * sim_value<float>((uint32_t)sim_bits(shifted) << 23);
}
SIM_INLINE float sim_exp2f(float a) {
    return sim_unit(SFU_EX2, a);
}
SIM_INLINE float sim_tanhf(float a) {
    const float size = fabsf(a), square = a * a;
    const float e = sim_unit(SFU_EX2, size * 0x1.715476p+1f, true);
    const float large = fmaf(sim_unit(SFU_RCP, e + 1.0f, true), -2.0f, 1.0f);
    float p = fmaf(0x1.01e104p-6f, square, -0x1.ac795cp-5f);
    p = fmaf(fmaf(p, square, 0x1.10b282p-3f), square, -0x1.5553dap-2f);
    const float small = fmaf(fmaf(p, square, 0.0f), a, a);
    return size >= 0x1.333334p-1f ? copysignf(size >= 0x1.205968p+3f ? 1.0f : large, a) : small;
}
/* Macros: the C library's own header declares functions of these names. */
#define __expf(a)    sim_fast_expf(a)
#define __exp10f(a)  sim_fast_exp10f(a)
#define __log2f(a)   sim_fast_log2f(a)
#define __logf(a)    sim_fast_logf(a)
#define __log10f(a)  sim_fast_log10f(a)
#define __powf(a, b) sim_fast_powf(a, b)
#define __sinf(a)    sim_fast_sinf(a)
#define __cosf(a)    sim_fast_cosf(a)
#define __tanf(a)    sim_fast_tanf(a)
#define expf(a)      sim_expf(a)
#define exp2f(a)     sim_exp2f(a)
#define tanhf(a)     sim_tanhf(a)

#endif
