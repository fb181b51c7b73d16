/*
 * Arithmetic, bits, conversions and loads of one thread, correctly rounded as CUDA's are.
 */
#ifndef ASSAY_SIM_SCALAR_H
#define ASSAY_SIM_SCALAR_H

/* Round-to-nearest arithmetic that is never contracted; the build turns contraction off. */
SIM_INLINE float __fadd_rn(float a, float b) {
    return a + b;
}
SIM_INLINE float __fsub_rn(float a, float b) {
    return a - b;
}
SIM_INLINE float __fmul_rn(float a, float b) {
    return a * b;
}
SIM_INLINE float __fdiv_rn(float a, float b) {
    return a / b;
}
SIM_INLINE float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
SIM_INLINE float __fsqrt_rn(float a) {
    return sqrtf(a);
}
SIM_INLINE float __frcp_rn(float a) {
    return 1.0f / a;
}
SIM_INLINE double __dadd_rn(double a, double b) {
    return a + b;
}
SIM_INLINE double __dsub_rn(double a, double b) {
    return a - b;
}
SIM_INLINE double __dmul_rn(double a, double b) {
    return a * b;
}
SIM_INLINE double __ddiv_rn(double a, double b) {
    return a / b;
}
SIM_INLINE double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
SIM_INLINE double __dsqrt_rn(double a) {
    return sqrt(a);
}
SIM_INLINE double __drcp_rn(double a) {
    return 1.0 / a;
}

SIM_INLINE float __frsqrt_rn(float a) {
    return (float)(1.0 / sqrt((double)a));
}
SIM_INLINE float __saturatef(float a) {
    return a >= 0.0f ? (a <= 1.0f ? a : 1.0f) : 0.0f; /* NaN becomes 0 */
}
SIM_INLINE unsigned __float_as_uint(float a) {
    return sim_value<unsigned>(sim_bits(a));
}
SIM_INLINE int __float_as_int(float a) {
    return sim_value<int>(sim_bits(a));
}
SIM_INLINE float __uint_as_float(unsigned a) {
    return sim_value<float>(a);
}
SIM_INLINE float __int_as_float(int a) {
    return sim_value<float>(sim_bits(a));
}
SIM_INLINE long long __double_as_longlong(double a) {
    return sim_value<long long>(sim_bits(a));
}
SIM_INLINE double __longlong_as_double(long long a) {
    return sim_value<double>(sim_bits(a));
}

/* Conversions saturate, and NaN becomes 0, as cvt does. */
SIM_INLINE int sim_to_int(double a) {
    return a >= 2147483647.0 ? INT32_MAX : a <= -2147483648.0 ? INT32_MIN : a == a ? (int)a : 0;
}
SIM_INLINE int __float2int_rn(float a) {
    return sim_to_int(rint((double)a));
}
SIM_INLINE int __float2int_rz(float a) {
    return sim_to_int((double)a);
}
SIM_INLINE int __float2int_rd(float a) {
    return sim_to_int(floor((double)a));
}
SIM_INLINE int __float2int_ru(float a) {
    return sim_to_int(ceil((double)a));
}
SIM_INLINE int __double2int_rn(double a) {
    return sim_to_int(rint(a));
}
SIM_INLINE float __int2float_rn(int a) {
    return (float)a;
}
SIM_INLINE float __uint2float_rn(unsigned a) {
    return (float)a;
}
SIM_INLINE float __ll2float_rn(long long a) {
    return (float)a;
}
SIM_INLINE double __int2double_rn(int a) {
    return (double)a;
}
SIM_INLINE double __ll2double_rn(long long a) {
    return (double)a;
}
SIM_INLINE float __double2float_rn(double a) {
    return (float)a;
}

SIM_INLINE int __popc(unsigned a) {
    return __builtin_popcount(a);
}
SIM_INLINE int __popcll(unsigned long long a) {
    return __builtin_popcountll(a);
}
SIM_INLINE int __clz(int a) {
    return a == 0 ? 32 : __builtin_clz((unsigned)a);
}
SIM_INLINE int __clzll(long long a) {
    return a == 0 ? 64 : __builtin_clzll((unsigned long long)a);
}
SIM_INLINE int __ffs(int a) {
    return __builtin_ffs(a);
}
SIM_INLINE int __ffsll(long long a) {
    return __builtin_ffsll(a);
}
SIM_INLINE unsigned __brev(unsigned a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
SIM_INLINE unsigned long long __brevll(unsigned long long a) {
    return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}
SIM_INLINE unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
SIM_INLINE int __mulhi(int a, int b) {
    return (int)((long long)a * b >> 32);
}
SIM_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
SIM_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
SIM_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

/*
 * Accesses of several elements at a time. A GPU refuses an access that is not aligned, the host's
 * processor may not: so the address is checked. Copies, since gcc 12 merges the loads of two arms
 * at -O3, and gives an unaligned one the alignment of the other. Where accesses are recorded, each
 * of 16 bytes is one access, even if the host's compiler would split it.
 */
template <class T>
SIM_INLINE void sim_aligned(const char *call, const T *address, const char *file, int line) {
    if ((uintptr_t)address % alignof(T) != 0)
        sim_require_aligned(call, address, (int32_t)alignof(T), file, line);
}
template <class T>
SIM_INLINE T sim_load(const char *call, const T *from, const char *file, int line) {
    sim_aligned(call, from, file, line);
    T value;
#if defined(ASSAY_RECORDED)
    if constexpr (sizeof(T) == SIM_WHOLE)
        sim_load_whole(&value, from);
    else
        value = *from;
#else
    __builtin_memcpy(&value, from, sizeof value);
#endif
    return value;
}
template <class T>
SIM_INLINE void sim_store(const char *call, T *to, const T &value, const char *file, int line) {
    sim_aligned(call, to, file, line);
#if defined(ASSAY_RECORDED)
    if constexpr (sizeof(T) == SIM_WHOLE)
        sim_store_whole(to, &value);
    else
        *to = value;
#else
    __builtin_memcpy(to, &value, sizeof value);
#endif
}
template <class T> SIM_INLINE T load_whole(const T *from, SIM_HERE) {
    return sim_load("load_whole", from, file, line);
}

/* Cache hints change no value. */
#define SIM_LOAD(name)                                                                             \
    template <class T> SIM_INLINE T name(const T *address, SIM_HERE) {                             \
        return sim_load(#name, address, file, line);                                               \
    }
#define SIM_STORE(name)                                                                            \
    template <class T> SIM_INLINE void name(T *address, std::type_identity_t<T> value, SIM_HERE) { \
        sim_store(#name, address, value, file, line);                                              \
    }
SIM_LOAD(__ldg)
SIM_LOAD(__ldca)
SIM_LOAD(__ldcg)
SIM_LOAD(__ldcs)
SIM_LOAD(__ldcv)
SIM_LOAD(__ldlu)
SIM_STORE(__stcg)
SIM_STORE(__stcs)
SIM_STORE(__stwb)
SIM_STORE(__stwt)
#undef SIM_LOAD
#undef SIM_STORE

/* The overload set of the CUDA headers: integers compare as in the wider, then the unsigned type.
 */
#define SIM_MIN_MAX(a_type, b_type, type)                                                          \
    SIM_INLINE type min(a_type a, b_type b) {                                                      \
        return (type)a < (type)b ? (type)a : (type)b;                                              \
    }                                                                                              \
    SIM_INLINE type max(a_type a, b_type b) {                                                      \
        return (type)a > (type)b ? (type)a : (type)b;                                              \
    }
SIM_MIN_MAX(int, int, int)
SIM_MIN_MAX(unsigned, unsigned, unsigned)
SIM_MIN_MAX(int, unsigned, unsigned)
SIM_MIN_MAX(unsigned, int, unsigned)
SIM_MIN_MAX(long, long, long)
SIM_MIN_MAX(unsigned long, unsigned long, unsigned long)
SIM_MIN_MAX(long, unsigned long, unsigned long)
SIM_MIN_MAX(unsigned long, long, unsigned long)
SIM_MIN_MAX(long long, long long, long long)
SIM_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
SIM_MIN_MAX(long long, unsigned long long, unsigned long long)
SIM_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef SIM_MIN_MAX

/* One NaN operand: the other one is the result, as fminf and fmaxf have it. */
SIM_INLINE float min(float a, float b) {
    return fminf(a, b);
}
SIM_INLINE float max(float a, float b) {
    return fmaxf(a, b);
}
SIM_INLINE double min(double a, double b) {
    return fmin(a, b);
}
SIM_INLINE double max(double a, double b) {
    return fmax(a, b);
}
SIM_INLINE double min(float a, double b) {
    return fmin((double)a, b);
}
SIM_INLINE double max(float a, double b) {
    return fmax((double)a, b);
}
SIM_INLINE double min(double a, float b) {
    return fmin(a, (double)b);
}
SIM_INLINE double max(double a, float b) {
    return fmax(a, (double)b);
}

#endif
