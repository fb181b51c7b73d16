/* Integers: operations for which C has no operator. */
#ifndef ASSAY_SIM_PTX_DEVICE_INTEGER_H
#define ASSAY_SIM_PTX_DEVICE_INTEGER_H

#include "sim/ptx/device/base.h"

/* Counts beyond the width shift everything out. */
#define SHIFTS(bits)                                                                               \
    INLINE uint##bits##_t shl_b##bits(uint##bits##_t a, uint32_t n) {                              \
        return (uint##bits##_t)(n < bits ? (uint##bits##_t)(a << n) : 0);                          \
    }                                                                                              \
    INLINE uint##bits##_t shr_u##bits(uint##bits##_t a, uint32_t n) {                              \
        return (uint##bits##_t)(n < bits ? a >> n : 0);                                            \
    }                                                                                              \
    INLINE int##bits##_t shr_s##bits(int##bits##_t a, uint32_t n) {                                \
        return (int##bits##_t)(a >> (n < bits ? n : bits - 1));                                    \
    }
SHIFTS(16)
SHIFTS(32)
SHIFTS(64)
#define shr_b16 shr_u16
#define shr_b32 shr_u32
#define shr_b64 shr_u64

/* Division by zero gives all ones, its remainder the dividend; the smallest number by -1 gives
 * itself. */
#define DIVISIONS(bits)                                                                            \
    INLINE uint##bits##_t div_u##bits(uint##bits##_t a, uint##bits##_t b) {                        \
        return (uint##bits##_t)(b == 0 ? UINT##bits##_MAX : a / b);                                \
    }                                                                                              \
    INLINE uint##bits##_t rem_u##bits(uint##bits##_t a, uint##bits##_t b) {                        \
        return (uint##bits##_t)(b == 0 ? a : a % b);                                               \
    }                                                                                              \
    INLINE int##bits##_t div_s##bits(int##bits##_t a, int##bits##_t b) {                           \
        return (int##bits##_t)(b == 0    ? -1                                                      \
                               : b == -1 ? (int##bits##_t)(0 - (uint##bits##_t)a)                  \
                                         : a / b);                                                 \
    }                                                                                              \
    INLINE int##bits##_t rem_s##bits(int##bits##_t a, int##bits##_t b) {                           \
        return (int##bits##_t)(b == 0 ? a : b == -1 ? 0 : a % b);                                  \
    }
DIVISIONS(16)
DIVISIONS(32)
DIVISIONS(64)

#define MUL_HI(type, c, wide, bits)                                                                \
    INLINE c mul_hi_##type(c a, c b) {                                                             \
        return (c)((wide)a * b >> bits);                                                           \
    }
MUL_HI(u16, uint16_t, uint32_t, 16)
MUL_HI(s16, int16_t, int32_t, 16)
MUL_HI(u32, uint32_t, uint64_t, 32)
MUL_HI(s32, int32_t, int64_t, 32)
MUL_HI(u64, uint64_t, unsigned __int128, 64)
MUL_HI(s64, int64_t, __int128, 64)

/* The 48 bits of a product of two numbers of 24. */
INLINE uint64_t mul24_u32(uint32_t a, uint32_t b) {
    return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}
INLINE int64_t mul24_s32(int32_t a, int32_t b) {
    return (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
}

INLINE int32_t clamp_s32(int64_t value) {
    return (int32_t)(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}

#define SAD(type, c, wide)                                                                         \
    INLINE c sad_##type(c a, c b, c sum) {                                                         \
        return (c)(sum + (c)(a < b ? (wide)b - (wide)a : (wide)a - (wide)b));                      \
    }
SAD(u16, uint16_t, uint32_t)
SAD(s16, int16_t, uint32_t)
SAD(u32, uint32_t, uint32_t)
SAD(s32, int32_t, uint32_t)
SAD(u64, uint64_t, uint64_t)
SAD(s64, int64_t, uint64_t)

PLAIN uint64_t extract(uint64_t a, uint32_t from, uint32_t n, bool is_signed, uint32_t bits) {
    const uint32_t last = bits - 1, end = from + n - 1 < last ? from + n - 1 : last;
    uint64_t field = from < bits ? a >> from : 0;
    const uint64_t mask = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    if (n == 0)
        return 0;
    field &= mask;
    if (is_signed && (a >> end & 1) != 0) {
        const uint32_t kept = from > last ? 0 : end - from + 1;
        field |= kept >= 64 ? 0 : UINT64_MAX << kept;
    }
    return field;
}
#define bfe_u32(a, b, c) ((uint32_t)extract((a), (b)&255, (c)&255, false, 32))
#define bfe_s32(a, b, c) ((int32_t)extract((uint32_t)(a), (b)&255, (c)&255, true, 32))
#define bfe_u64(a, b, c) extract((a), (b)&255, (c)&255, false, 64)
#define bfe_s64(a, b, c) ((int64_t)extract((uint64_t)(a), (b)&255, (c)&255, true, 64))

PLAIN uint64_t insert(uint64_t field, uint64_t into, uint32_t from, uint32_t n, uint32_t bits) {
    const uint64_t mask = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    return from >= bits ? into : (into & ~(mask << from)) | (field & mask) << from;
}
#define bfi_b32(a, b, c, d) ((uint32_t)insert((a), (b), (c)&255, (d)&255, 32))
#define bfi_b64(a, b, c, d) insert((a), (b), (c)&255, (d)&255, 64)

/* The place of the highest bit that differs from the sign; `shift`: how far to shift it there. */
PLAIN uint32_t find_bit(uint64_t a, uint32_t bits, bool shift) {
    if (a == 0)
        return UINT32_MAX;
    const uint32_t place = 63u - (uint32_t)__builtin_clzll(a);
    return shift ? bits - 1 - place : place;
}
#define bfind_u32(a, shift) find_bit((a), 32, (shift))
#define bfind_u64(a, shift) find_bit((a), 64, (shift))
#define bfind_s32(a, shift) find_bit((uint32_t)((a) < 0 ? ~(a) : (a)), 32, (shift))
#define bfind_s64(a, shift) find_bit((uint64_t)((a) < 0 ? ~(a) : (a)), 64, (shift))

PLAIN uint64_t reversed(uint64_t a) {
    uint64_t r = 0;
    for (uint32_t i = 0; i < 64; ++i)
        r |= (a >> i & 1) << (63 - i);
    return r;
}

INLINE uint32_t clz64(uint64_t a) {
    return a == 0 ? 64 : (uint32_t)__builtin_clzll(a);
}

/* The n-th set bit from `base` on, upwards, or downwards for a negative n; n = 0: base itself. */
PLAIN uint32_t fns(uint32_t mask, uint32_t base, int32_t n) {
    const int32_t step = n < 0 ? -1 : 1;
    int32_t left = n < 0 ? -n : n;
    if (base > 31)
        return UINT32_MAX;
    if (n == 0)
        return (mask >> base & 1) != 0 ? base : UINT32_MAX;
    for (int32_t i = (int32_t)base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) != 0 && --left == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

PLAIN uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t s = selector >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (s & 7)) & 255;
        if ((s & 8) != 0)
            byte = (byte & 128) != 0 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}
/* The modes with a name: byte i of the result is byte `table` says for the low 2 bits of c. */
PLAIN uint32_t prmt_mode(uint32_t a, uint32_t b, uint32_t c, const uint16_t table[4]) {
    return prmt(a, b, table[c & 3]);
}
static const uint16_t PRMT_f4e[] __attribute__((unused)) = {0x3210, 0x4321, 0x5432, 0x6543};
static const uint16_t PRMT_b4e[] __attribute__((unused)) = {0x5670, 0x6701, 0x7012, 0x0123};
static const uint16_t PRMT_rc8[] __attribute__((unused)) = {0x0000, 0x1111, 0x2222, 0x3333};
static const uint16_t PRMT_ecl[] __attribute__((unused)) = {0x3210, 0x3211, 0x3222, 0x3333};
static const uint16_t PRMT_ecr[] __attribute__((unused)) = {0x0000, 0x1110, 0x2210, 0x3210};
static const uint16_t PRMT_rc16[] __attribute__((unused)) = {0x1010, 0x3232, 0x1010, 0x3232};

/* A word out of b:a. */
INLINE uint32_t funnel_left(uint32_t a, uint32_t b, uint32_t n) {
    return (uint32_t)((((uint64_t)b << 32 | a) << n) >> 32);
}
INLINE uint32_t funnel_right(uint32_t a, uint32_t b, uint32_t n) {
    return (uint32_t)(((uint64_t)b << 32 | a) >> n);
}
INLINE uint32_t shf_count(uint32_t n, bool wrap) {
    return wrap ? n & 31 : n < 32 ? n : 32;
}

INLINE uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t r = 0;
    r |= (table & 1) != 0 ? ~a & ~b & ~c : 0;
    r |= (table & 2) != 0 ? ~a & ~b & c : 0;
    r |= (table & 4) != 0 ? ~a & b & ~c : 0;
    r |= (table & 8) != 0 ? ~a & b & c : 0;
    r |= (table & 16) != 0 ? a & ~b & ~c : 0;
    r |= (table & 32) != 0 ? a & ~b & c : 0;
    r |= (table & 64) != 0 ? a & b & ~c : 0;
    r |= (table & 128) != 0 ? a & b & c : 0;
    return r;
}

INLINE int32_t element(uint32_t word, uint32_t i, uint32_t bits, bool is_signed) {
    const uint32_t up = word << (32 - bits - i * bits);
    return is_signed ? (int32_t)up >> (32 - bits) : (int32_t)(up >> (32 - bits));
}
PLAIN uint32_t dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t sum) {
    for (uint32_t i = 0; i < 4; ++i)
        sum += (uint32_t)(element(a, i, 8, a_signed) * element(b, i, 8, b_signed));
    return sum;
}
PLAIN uint32_t dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t sum, bool high) {
    for (uint32_t i = 0; i < 2; ++i)
        sum +=
            (uint32_t)(element(a, i, 16, a_signed) * element(b, i + (high ? 2 : 0), 8, b_signed));
    return sum;
}

/* Instructions for video: parts of words, each the result's part or, with `add`, a term that is
 * added to c. */
enum {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_AVRG,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_EQ,
    VIDEO_NE,
    VIDEO_LT,
    VIDEO_LE,
    VIDEO_GT,
    VIDEO_GE
};
INLINE int32_t video_part(int32_t operation, int32_t a, int32_t b) {
    switch (operation) {
    case VIDEO_ADD:
        return a + b;
    case VIDEO_SUB:
        return a - b;
    case VIDEO_AVRG:
        return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    case VIDEO_ABSDIFF:
        return a < b ? b - a : a - b;
    case VIDEO_MIN:
        return a < b ? a : b;
    case VIDEO_MAX:
        return a < b ? b : a;
    case VIDEO_EQ:
        return a == b;
    case VIDEO_NE:
        return a != b;
    case VIDEO_LT:
        return a < b;
    case VIDEO_LE:
        return a <= b;
    case VIDEO_GT:
        return a > b;
    default:
        return a >= b;
    }
}
PLAIN uint32_t video(int32_t operation, uint32_t parts, bool is_signed, bool a_signed,
                     bool b_signed, bool saturates, bool add, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t bits = 32 / parts, mask = (1u << bits) - 1;
    const int32_t least = is_signed ? -(int32_t)(mask >> 1) - 1 : 0;
    const int32_t most = (int32_t)(is_signed ? mask >> 1 : mask);
    uint32_t result = add ? c : 0;
    for (uint32_t i = 0; i < parts; ++i) {
        int32_t part =
            video_part(operation, element(a, i, bits, a_signed), element(b, i, bits, b_signed));
        if (saturates)
            part = part < least ? least : part > most ? most : part;
        result += add ? (uint32_t)part : ((uint32_t)part & mask) << i * bits;
    }
    return result;
}

/* Sums with the carry that the thread keeps. */
INLINE uint64_t add_carry(uint64_t a, uint64_t b, bool in, uint32_t bits, bool *out) {
    const unsigned __int128 sum = (unsigned __int128)a + b + in;
    *out = (sum >> bits & 1) != 0;
    return (uint64_t)sum;
}
/* Differences: the borrow. */
INLINE uint64_t sub_carry(uint64_t a, uint64_t b, bool in, uint32_t bits, bool *out) {
    const unsigned __int128 difference = (unsigned __int128)a - b - in;
    *out = (difference >> bits & 1) != 0;
    return (uint64_t)difference;
}

/* Two 16-bit integers in a word. */
#define PACKED(name, c, expression)                                                                \
    PLAIN uint32_t name(uint32_t u, uint32_t v) {                                                  \
        uint32_t r = 0;                                                                            \
        for (uint32_t i = 0; i < 32; i += 16) {                                                    \
            const c a = (c)(u >> i), b = (c)(v >> i);                                              \
            r |= (uint32_t)(uint16_t)(expression) << i;                                            \
        }                                                                                          \
        return r;                                                                                  \
    }
PACKED(add_u16x2, uint16_t, a + b)
PACKED(min_u16x2, uint16_t, a < b ? a : b)
PACKED(max_u16x2, uint16_t, a > b ? a : b)
PACKED(min_s16x2, int16_t, a < b ? a : b)
PACKED(max_s16x2, int16_t, a > b ? a : b)
#define add_s16x2 add_u16x2
PLAIN uint32_t relu_s16x2(uint32_t a) {
    return max_s16x2(a, 0);
}

#endif
