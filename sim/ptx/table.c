/* PTX ISA, chapter "Instructions". The first row that fits is taken. */
#include "sim/ptx/table.h"

/* Rows with a template have no form. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define UNSIGNED "u16 u32 u64"
#define SIGNED   "s16 s32 s64"
#define INTEGERS UNSIGNED " " SIGNED
#define WORDS    "u32 s32"
#define LONGS    "u32 s32 u64 s64"
#define BITS     "b16 b32 b64"
#define ROUNDED  "rn rz rm rp"
#define SCOPES   "cta cluster gpu sys gl"
#define ORDERS   "relaxed acquire release acq_rel sc weak volatile mmio " SCOPES
#define CACHED                                                                                     \
    ORDERS " global shared shared::cta shared::cluster local const param param::entry "            \
           "param::func ca cg cs cv lu wb wt nc v2 v4 v8 unified "                                 \
           "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "  \
           "L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B "      \
           "L2::256B"
#define COMPARISONS                             "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz and or xor"
#define HALVES(expression_low, expression_high) "BOTH(" expression_low ", " expression_high ")"

/* The arithmetic of a 16-bit format and of pairs of it. */
#define SMALL(t)                                                                                   \
    {"add", "rn ftz sat noftz", t, "=t t t", "add_$t($1, $2, $(ftz), $(sat))"},                    \
        {"sub", "rn ftz sat noftz", t, "=t t t", "sub_$t($1, $2, $(ftz), $(sat))"},                \
        {"mul", "rn ftz sat noftz", t, "=t t t", "mul_$t($1, $2, $(ftz), $(sat))"},                \
        {"fma", "rn ftz sat relu oob", t, "=t t t t",                                              \
         "fma_$t($1, $2, $3, $(ftz), $(sat), $(relu))"},                                           \
        {"neg", "ftz", t, "=t t", "neg_$t($1, $(ftz))"},                                           \
        {"abs", "ftz", t, "=t t", "abs_$t($1, $(ftz))"},                                           \
        {"min", "ftz NaN xorsign abs", t, "=t t t",                                                \
         "choose_$t($1, $2, false, $(ftz), $(NaN), $(xorsign))"},                                  \
        {"max", "ftz NaN xorsign abs", t, "=t t t",                                                \
         "choose_$t($1, $2, true, $(ftz), $(NaN), $(xorsign))"},                                   \
        {"ex2.approx", "ftz", t, "=t t", "mufu_$t(SFU_EX2, $1)"}, {                                \
        "tanh.approx", "", t, "=t t", "mufu_$t(SFU_TANH, $1)"                                      \
    }
#define PAIR_1(name, optional, t, half, rest)                                                      \
    {                                                                                              \
        name, optional, t, "=t t",                                                                 \
            "BOTH(" half "(HALF($1, 0)" rest "), " half "(HALF($1, 1)" rest "))"                   \
    }
#define PAIR_2(name, optional, t, half, rest)                                                      \
    {                                                                                              \
        name, optional, t, "=t t t",                                                               \
            "BOTH(" half "(HALF($1, 0), HALF($2, 0)" rest "), " half                               \
            "(HALF($1, 1), HALF($2, 1)" rest "))"                                                  \
    }
#define PAIRS(t, half)                                                                             \
    PAIR_2("add", "rn ftz sat noftz", t, "add_" half, ", $(ftz), $(sat)"),                         \
        PAIR_2("sub", "rn ftz sat noftz", t, "sub_" half, ", $(ftz), $(sat)"),                     \
        PAIR_2("mul", "rn ftz sat noftz", t, "mul_" half, ", $(ftz), $(sat)"),                     \
        {"fma", "rn ftz sat relu oob", t, "=t t t t",                                              \
         "BOTH(fma_" half "(HALF($1, 0), HALF($2, 0), HALF($3, 0), $(ftz), $(sat), $(relu)), "     \
         "fma_" half "(HALF($1, 1), HALF($2, 1), HALF($3, 1), $(ftz), $(sat), $(relu)))"},         \
        PAIR_1("neg", "ftz", t, "neg_" half, ", $(ftz)"),                                          \
        PAIR_1("abs", "ftz", t, "abs_" half, ", $(ftz)"),                                          \
        PAIR_2("min", "ftz NaN xorsign abs", t, "choose_" half,                                    \
               ", false, $(ftz), $(NaN), $(xorsign)"),                                             \
        PAIR_2("max", "ftz NaN xorsign abs", t, "choose_" half,                                    \
               ", true, $(ftz), $(NaN), $(xorsign)"),                                              \
        {"ex2.approx", "ftz", t, "=t t",                                                           \
         "BOTH(mufu_" half "(SFU_EX2, HALF($1, 0)), mufu_" half "(SFU_EX2, HALF($1, 1)))"},        \
    {                                                                                              \
        "tanh.approx", "", t, "=t t",                                                              \
            "BOTH(mufu_" half "(SFU_TANH, HALF($1, 0)), mufu_" half "(SFU_TANH, HALF($1, 1)))"     \
    }

const instruction_row instruction_rows[] = {
    /* integers */
    {"add", "", INTEGERS, "=t t t", "$1 + $2"},
    {"sub", "", INTEGERS, "=t t t", "$1 - $2"},
    {"add.sat", "", "s32", "=t t t", "clamp_s32((int64_t)$1 + $2)"},
    {"sub.sat", "", "s32", "=t t t", "clamp_s32((int64_t)$1 - $2)"},
    {"add", "", "u16x2 s16x2", "=t t t", "add_u16x2($1, $2)"},
    {"add.cc", "", LONGS, "=b b b", "add_carry($1, $2, false, $b, &carry)"},
    {"addc", "", LONGS, "=b b b", "$1 + $2 + carry"},
    {"addc.cc", "", LONGS, "=b b b", "add_carry($1, $2, carry, $b, &carry)"},
    {"sub.cc", "", LONGS, "=b b b", "sub_carry($1, $2, false, $b, &carry)"},
    {"subc", "", LONGS, "=b b b", "$1 - $2 - carry"},
    {"subc.cc", "", LONGS, "=b b b", "sub_carry($1, $2, carry, $b, &carry)"},
    {"mul.lo", "", INTEGERS, "=t t t", "$1 * $2"},
    {"mul.hi", "", INTEGERS, "=t t t", "mul_hi_$t($1, $2)"},
    {"mul.wide", "", "u16 s16 u32 s32", "=w t t", "($w)$1 * $2"},
    {"mad.lo", "", INTEGERS, "=t t t t", "$1 * $2 + $3"},
    {"mad.hi", "", INTEGERS, "=t t t t", "mul_hi_$t($1, $2) + $3"},
    {"mad.hi.sat", "", "s32", "=t t t t", "clamp_s32((int64_t)mul_hi_s32($1, $2) + $3)"},
    {"mad.wide", "", "u16 s16 u32 s32", "=w t t w", "($w)$1 * $2 + $3"},
    {"mad.lo.cc", "", LONGS, "=b t t b", "add_carry(($c)($1 * $2), $3, false, $b, &carry)"},
    {"mad.hi.cc", "", "u32 u64", "=b t t b", "add_carry(mul_hi_$t($1, $2), $3, false, $b, &carry)"},
    {"mad.hi.cc", "", "s32", "=b t t b",
     "add_carry((uint32_t)mul_hi_s32($1, $2), $3, false, 32, &carry)"},
    {"mad.hi.cc", "", "s64", "=b t t b",
     "add_carry((uint64_t)mul_hi_s64($1, $2), $3, false, 64, &carry)"},
    {"madc.lo", "", LONGS, "=t t t t", "$1 * $2 + $3 + carry"},
    {"madc.hi", "", LONGS, "=t t t t", "mul_hi_$t($1, $2) + $3 + carry"},
    {"madc.lo.cc", "", "u32 u64", "=b t t b", "add_carry(($c)($1 * $2), $3, carry, $b, &carry)"},
    {"madc.lo.cc", "", "s32", "=b b b b", "add_carry((uint32_t)($1 * $2), $3, carry, 32, &carry)"},
    {"madc.lo.cc", "", "s64", "=b b b b", "add_carry($1 * $2, $3, carry, 64, &carry)"},
    {"madc.hi.cc", "", "u32 u64", "=b t t b",
     "add_carry(mul_hi_$t($1, $2), $3, carry, $b, &carry)"},
    {"madc.hi.cc", "", "s32", "=b t t b",
     "add_carry((uint32_t)mul_hi_s32($1, $2), $3, carry, 32, &carry)"},
    {"madc.hi.cc", "", "s64", "=b t t b",
     "add_carry((uint64_t)mul_hi_s64($1, $2), $3, carry, 64, &carry)"},
    {"mul24.lo", "", WORDS, "=t t t", "mul24_$t($1, $2)"},
    {"mul24.hi", "", WORDS, "=t t t", "mul24_$t($1, $2) >> 16"},
    {"mad24.lo", "", WORDS, "=t t t t", "($c)mul24_$t($1, $2) + $3"},
    {"mad24.hi", "", WORDS, "=t t t t", "($c)(mul24_$t($1, $2) >> 16) + $3"},
    {"mad24.hi.sat", "", "s32", "=t t t t", "clamp_s32((mul24_s32($1, $2) >> 16) + $3)"},
    {"sad", "", INTEGERS, "=t t t t", "sad_$t($1, $2, $3)"},
    {"div", "", INTEGERS, "=t t t", "div_$t($1, $2)"},
    {"rem", "", INTEGERS, "=t t t", "rem_$t($1, $2)"},
    {"abs", "", SIGNED, "=t t", "$1 < 0 ? -$1 : $1"},
    {"neg", "", SIGNED, "=t t", "-$1"},
    {"min", "", INTEGERS, "=t t t", "$1 < $2 ? $1 : $2"},
    {"max", "", INTEGERS, "=t t t", "$1 > $2 ? $1 : $2"},
    {"min.relu", "", "s32", "=t t t", "$1 < 0 || $2 < 0 ? 0 : $1 < $2 ? $1 : $2"},
    {"max.relu", "", "s32", "=t t t", "$1 < 0 && $2 < 0 ? 0 : $1 > $2 ? $1 : $2"},
    {"min", "", "u16x2 s16x2", "=t t t", "min_$t($1, $2)"},
    {"max", "", "u16x2 s16x2", "=t t t", "max_$t($1, $2)"},
    {"min.relu", "", "s16x2", "=t t t", "relu_s16x2(min_s16x2($1, $2))"},
    {"max.relu", "", "s16x2", "=t t t", "relu_s16x2(max_s16x2($1, $2))"},
    {"popc", "", "b32 b64", "=u32 t", "__builtin_popcountll($1)"},
    {"clz", "", "b32", "=u32 t", "clz64($1) - 32"},
    {"clz", "", "b64", "=u32 t", "clz64($1)"},
    {"bfind", "", LONGS, "=u32 t", "bfind_$t($1, false)"},
    {"bfind.shiftamt", "", LONGS, "=u32 t", "bfind_$t($1, true)"},
    {"brev", "", "b32", "=t t", "reversed($1) >> 32"},
    {"brev", "", "b64", "=t t", "reversed($1)"},
    {"bfe", "", LONGS, "=t t u32 u32", "bfe_$t($1, $2, $3)"},
    {"bfi", "", "b32 b64", "=t t t u32 u32", "bfi_$t($1, $2, $3, $4)"},
    {"szext.wrap", "", WORDS, "=t t u32", "bfe_$t($1, 0, $2 & 31)"},
    {"szext.clamp", "", WORDS, "=t t u32", "bfe_$t($1, 0, $2 < 32 ? $2 : 32)"},
    {"bmsk.wrap", "", "b32", "=t u32 u32", "shl_b32(~(UINT32_MAX << ($2 & 31)), $1 & 31)"},
    {"bmsk.clamp", "", "b32", "=t u32 u32",
     "shl_b32($2 < 32 ? ~(UINT32_MAX << $2) : UINT32_MAX, $1)"},
    {"fns", "", "b32", "=t t u32 s32", "fns($1, $2, $3)"},
    {"prmt", "", "b32", "=t t t t", "prmt($1, $2, $3)"},
#define PRMT(mode)                                                                                 \
    { "prmt." #mode, "", NULL, "=b32 b32 b32 b32", "prmt_mode($1, $2, $3, PRMT_" #mode ")" }
    PRMT(f4e),
    PRMT(b4e),
    PRMT(rc8),
    PRMT(ecl),
    PRMT(ecr),
    PRMT(rc16),
    {"shf.l", "wrap clamp", "b32", "=t t t u32", "funnel_left($1, $2, shf_count($3, $(wrap)))"},
    {"shf.r", "wrap clamp", "b32", "=t t t u32", "funnel_right($1, $2, shf_count($3, $(wrap)))"},
    {"lop3", "", "b32", "=t t t t #", "lop3($1, $2, $3, $4)"},
    {"lop3.or", "", "b32", "=t|pred t t t # pred",
     "lop3($1, $2, $3, $4) | (uint64_t)(lop3($1, $2, $3, $4) != 0 || $5) << 32"},
    {"lop3.and", "", "b32", "=t|pred t t t # pred",
     "lop3($1, $2, $3, $4) | (uint64_t)(lop3($1, $2, $3, $4) != 0 && $5) << 32"},
    {"dp4a", "", "u32.u32", "=t T t t", "dp4a($1, false, $2, false, $3)"},
    {"dp4a", "", "u32.s32", "=t T t t", "dp4a($1, false, (uint32_t)$2, true, (uint32_t)$3)"},
    {"dp4a", "", "s32.u32", "=s32 T t s32", "dp4a((uint32_t)$1, true, $2, false, (uint32_t)$3)"},
    {"dp4a", "", "s32.s32", "=t T t t",
     "dp4a((uint32_t)$1, true, (uint32_t)$2, true, (uint32_t)$3)"},
#define DP2A(mode, high)                                                                           \
    {"dp2a." mode, "", "u32.u32", "=t T t t", "dp2a($1, false, $2, false, $3, " high ")"},         \
        {"dp2a." mode, "", "u32.s32", "=t T t t",                                                  \
         "dp2a($1, false, (uint32_t)$2, true, (uint32_t)$3, " high ")"},                           \
        {"dp2a." mode, "", "s32.u32", "=s32 T t s32",                                              \
         "dp2a((uint32_t)$1, true, $2, false, (uint32_t)$3, " high ")"},                           \
    {                                                                                              \
        "dp2a." mode, "", "s32.s32", "=t T t t",                                                   \
            "dp2a((uint32_t)$1, true, (uint32_t)$2, true, (uint32_t)$3, " high ")"                 \
    }
    DP2A("lo", "false"),
    DP2A("hi", "true"),
#define VIDEO(name)                                                                                \
    {name "2", "sat add", NULL, "", NULL, form_video}, {                                           \
        name "4", "sat add", NULL, "", NULL, form_video                                            \
    }
    VIDEO("vadd"),
    VIDEO("vsub"),
    VIDEO("vavrg"),
    VIDEO("vabsdiff"),
    VIDEO("vmin"),
    VIDEO("vmax"),
    {"vset2", "add eq ne lt le gt ge", NULL, "", NULL, form_video},
    {"vset4", "add eq ne lt le gt ge", NULL, "", NULL, form_video},

    /* bits */
    {"and", "", BITS " pred", "=t t t", "$1 & $2"},
    {"or", "", BITS " pred", "=t t t", "$1 | $2"},
    {"xor", "", BITS " pred", "=t t t", "$1 ^ $2"},
    {"not", "", BITS, "=t t", "~$1"},
    {"not", "", "pred", "=t t", "!$1"},
    {"cnot", "", BITS, "=t t", "$1 == 0"},
    {"shl", "", BITS, "=t t u32", "shl_$t($1, $2)"},
    {"shr", "", BITS " " INTEGERS, "=t t u32", "shr_$t($1, $2)"},

    /* floating point */
    {"add", ROUNDED " ftz sat", "f32", "=t t t", "add_f32($1, $2, $r)"},
    {"sub", ROUNDED " ftz sat", "f32", "=t t t", "sub_f32($1, $2, $r)"},
    {"mul", ROUNDED " ftz sat", "f32", "=t t t", "mul_f32($1, $2, $r, $(ftz))"},
    {"fma", ROUNDED " ftz sat", "f32", "=t t t t", "fma_f32($1, $2, $3, $r, $(ftz))"},
    {"mad", ROUNDED " ftz sat", "f32", "=t t t t", "fma_f32($1, $2, $3, $r, $(ftz))"},
    {"div.approx", "ftz", "f32", "=t t t", "mufu_division($1, $2, false, $(ftz))"},
    {"div.full", "ftz", "f32", "=t t t", "mufu_division($1, $2, true, $(ftz))"},
    {"div", ROUNDED " ftz", "f32", "=t t t", "div_f32($1, $2, $r, $(ftz))"},
    {"rcp.approx", "ftz", "f32", "=t t", "mufu(SFU_RCP, $1, $(ftz))"},
    {"rcp", ROUNDED " ftz", "f32", "=t t", "div_f32(1.0f, $1, $r, $(ftz))"},
    {"sqrt.approx", "ftz", "f32", "=t t", "mufu(SFU_SQRT, $1, $(ftz))"},
    {"sqrt", ROUNDED " ftz", "f32", "=t t", "sqrt_f32($1, $r)"},
    {"rsqrt.approx", "ftz", "f32", "=t t", "mufu(SFU_RSQRT, $1, $(ftz))"},
    {"ex2.approx", "ftz", "f32", "=t t", "mufu(SFU_EX2, $1, $(ftz))"},
    {"lg2.approx", "ftz", "f32", "=t t", "mufu(SFU_LG2, $1, $(ftz))"},
    {"sin.approx", "ftz", "f32", "=t t", "mufu(SFU_SIN, $1, $(ftz))"},
    {"cos.approx", "ftz", "f32", "=t t", "mufu(SFU_COS, $1, $(ftz))"},
    {"tanh.approx", "", "f32", "=t t", "mufu(SFU_TANH, $1, false)"},
    {"abs", "ftz", "f32", "=t t", "nan32(float_of(bits32($1) & 0x7fffffffu))"},
    {"neg", "ftz", "f32", "=t t", "nan32(-$1)"},
    {"min", "ftz NaN xorsign abs", "f32", "=t t t",
     "choose_f32($1, $2, false, $(NaN), $(xorsign))"},
    {"max", "ftz NaN xorsign abs", "f32", "=t t t", "choose_f32($1, $2, true, $(NaN), $(xorsign))"},
    {"min", "ftz NaN abs", "f32", "=t t t t",
     "choose_f32(choose_f32($1, $2, false, $(NaN), false), $3, false, $(NaN), false)"},
    {"max", "ftz NaN abs", "f32", "=t t t t",
     "choose_f32(choose_f32($1, $2, true, $(NaN), false), $3, true, $(NaN), false)"},
    {"copysign", "", "f32", "=t t t",
     "float_of((bits32($1) & 0x80000000u) | (bits32($2) & 0x7fffffffu))"},
    {"add", ROUNDED, "f64", "=t t t", "add_f64($1, $2, $r)"},
    {"sub", ROUNDED, "f64", "=t t t", "sub_f64($1, $2, $r)"},
    {"mul", ROUNDED, "f64", "=t t t", "mul_f64($1, $2, $r)"},
    {"fma", ROUNDED, "f64", "=t t t t", "fma_f64($1, $2, $3, $r)"},
    {"mad", ROUNDED, "f64", "=t t t t", "fma_f64($1, $2, $3, $r)"},
    {"div", ROUNDED, "f64", "=t t t", "div_f64($1, $2, $r)"},
    {"rcp.approx.ftz", "", "f64", "=t t", "mufu_f64(SFU_RCP, $1)"},
    {"rsqrt.approx.ftz", "", "f64", "=t t", "mufu_f64(SFU_RSQRT, $1)"},
    {"rsqrt.approx", "", "f64", "=t t", "x->rsqrt_f64($1)"},
    {"rcp", ROUNDED, "f64", "=t t", "div_f64(1.0, $1, $r)"},
    {"sqrt", ROUNDED, "f64", "=t t", "sqrt_f64($1, $r)"},
    {"abs", "", "f64", "=t t", "__builtin_fabs($1)"},
    {"neg", "", "f64", "=t t", "$1 == $1 ? -$1 : $1"},
    {"min", "", "f64", "=t t t", "choose_f64($1, $2, false)"},
    {"max", "", "f64", "=t t t", "choose_f64($1, $2, true)"},
    {"copysign", "", "f64", "=t t t", "__builtin_copysign($2, $1)"},
    {"testp.finite", "", "f32 f64", "=pred t", "__builtin_isfinite($1) != 0"},
    {"testp.infinite", "", "f32 f64", "=pred t", "__builtin_isinf($1) != 0"},
    {"testp.number", "", "f32 f64", "=pred t", "$1 == $1"},
    {"testp.notanumber", "", "f32 f64", "=pred t", "$1 != $1"},
    {"testp.normal", "", "f32 f64", "=pred t", "__builtin_isnormal($1) || $1 == 0"},
    {"testp.subnormal", "", "f32", "=pred t", "$1 != 0 && (bits32($1) & 0x7f800000u) == 0"},
    {"testp.subnormal", "", "f64", "=pred t",
     "$1 != 0 && (bits64($1) & UINT64_C(0x7ff0000000000000)) == 0"},
    SMALL("f16"),
    SMALL("bf16"),
    PAIRS("f16x2", "f16"),
    PAIRS("bf16x2", "bf16"),

    /* choice, moves, conversion */
    {"selp", "", BITS " " INTEGERS " f32 f64 f16 bf16", "=t t t pred", "$3 ? $1 : $2"},
#define SLCT(by)                                                                                   \
    {                                                                                              \
        "slct", "ftz",                                                                             \
            "b16." by " b32." by " b64." by " u16." by " u32." by " u64." by " s16." by " s32." by \
            " s64." by " f32." by " f64." by,                                                      \
            "=B B B t", "$3 >= 0 ? $1 : $2"                                                        \
    }
    SLCT("s32"),
    SLCT("f32"),
    {"setp", COMPARISONS, NULL, "", NULL, form_compare},
    {"set", COMPARISONS, NULL, "", NULL, form_compare},
    {"mov", "", NULL, "", NULL, form_move},
    {"cvt", ROUNDED " rna rni rzi rmi rpi ftz sat relu satfinite", NULL, "", NULL, form_convert},
    {"cvta.to.shared", "shared::cta", "u32 u64", "=t u64", "$1 - (uint64_t)(uintptr_t)shared"},
    {"cvta.to", "global const local param param::entry", "u32 u64", "=t u64", "$1"},
    {"cvta.shared", "", "u32 u64", "=t u32", "(uint64_t)(uintptr_t)(shared + $1)"},
    {"cvta", "global const local param param::entry", "u32 u64", "=t u64", "$1"},
    {"isspacep.shared", "", "", "=pred u64", "$1 - (uint64_t)(uintptr_t)shared < x->shared_bytes"},
    {"isspacep.local", "", "", "=pred u64",
     "$1 >= (uint64_t)(uintptr_t)*x->stacks && $1 < (uint64_t)(uintptr_t)*x->stacks_end"},
    {"isspacep.param", "", "", "=pred u64",
     "$1 - (uint64_t)(uintptr_t)parameters < x->parameter_bytes"},
    {"isspacep.global", "", "", "=pred u64",
     "$1 - (uint64_t)(uintptr_t)shared >= x->shared_bytes && "
     "!($1 >= (uint64_t)(uintptr_t)*x->stacks && $1 < (uint64_t)(uintptr_t)*x->stacks_end)"},

    /* memory */
    {"ld", CACHED, NULL, "", NULL, form_load},
    {"ldu", "global v2 v4", NULL, "", NULL, form_load},
    {"st", CACHED, NULL, "", NULL, form_store},
    {"atom", "*", NULL, "", NULL, form_atomic},
    {"red",
     "relaxed acquire release acq_rel global shared shared::cta shared::cluster " SCOPES
     " add min max inc dec and or xor noftz v2 v4 v8 L2::cache_hint",
     NULL, "", NULL, form_atomic},
    {"prefetch", "*", NULL, "-", ""},
    {"prefetchu", "*", NULL, "-", ""},
    {"discard", "*", NULL, "- -", ""},
    {"applypriority", "*", NULL, "- -", ""},
    {"createpolicy", "*", NULL, "=b64 -", "0"},
    {"createpolicy", "*", NULL, "=b64 - -", "0"},
    {"createpolicy", "*", NULL, "=b64 - - -", "0"},
    {"alloca", "", "u32 u64 b32 b64", "=t u64", "(uint64_t)(uintptr_t)__builtin_alloca($1)"},
    {"alloca", "", "u32 u64 b32 b64", "=t u64 #",
     "(uint64_t)(uintptr_t)__builtin_alloca_with_align($1, 8 * ($2 < 16 ? 16 : $2))"},
    {"stacksave", "", NULL, "=t", "0"},
    {"stackrestore", "", NULL, "-", ""},

    /* threads */
    {"membar", SCOPES, "", "", NULL, form_fence},
    {"fence", "*", NULL, "", NULL, form_fence},
#define BARRIER(base, optional, aligned)                                                           \
    {base ".sync", optional, "", "u32",                                                            \
     "x->barrier(PTX_BARRIER_SYNC, $0, 0, " aligned ", 0, $@)"},                                   \
        {base ".sync", optional, "", "u32 u32",                                                    \
         "x->barrier(PTX_BARRIER_SYNC, $0, $1, " aligned ", 0, $@)"},                              \
        {base ".arrive", optional, "", "u32 u32",                                                  \
         "x->barrier(PTX_BARRIER_ARRIVE, $0, $1, " aligned ", 0, $@)"},                            \
        {base ".red.popc", optional, "u32", "=u32 u32 pred",                                       \
         "x->barrier(PTX_BARRIER_POPC, $1, 0, " aligned ", $2, $@)"},                              \
        {base ".red.popc", optional, "u32", "=u32 u32 u32 pred",                                   \
         "x->barrier(PTX_BARRIER_POPC, $1, $2, " aligned ", $3, $@)"},                             \
        {base ".red.and", optional, "pred", "=pred u32 pred",                                      \
         "x->barrier(PTX_BARRIER_AND, $1, 0, " aligned ", $2, $@) != 0"},                          \
        {base ".red.and", optional, "pred", "=pred u32 u32 pred",                                  \
         "x->barrier(PTX_BARRIER_AND, $1, $2, " aligned ", $3, $@) != 0"},                         \
        {base ".red.or", optional, "pred", "=pred u32 pred",                                       \
         "x->barrier(PTX_BARRIER_OR, $1, 0, " aligned ", $2, $@) != 0"},                           \
    {                                                                                              \
        base ".red.or", optional, "pred", "=pred u32 u32 pred",                                    \
            "x->barrier(PTX_BARRIER_OR, $1, $2, " aligned ", $3, $@) != 0"                         \
    }
    {"bar.warp.sync", "", "", "u32", "x->meet(PTX_SYNCWARP, $0, 0, 0, 0, $@)"},
    BARRIER("bar", "cta", "true"),
    BARRIER("barrier", "cta aligned", "$(aligned)"),
    {"vote.sync.all", "", "pred", "=pred pred u32",
     "all_of(x->meet(PTX_BALLOT, $2, $1, 0, 0, $@))"},
    {"vote.sync.any", "", "pred", "=pred pred u32",
     "(uint32_t)x->meet(PTX_BALLOT, $2, $1, 0, 0, $@) != 0"},
    {"vote.sync.uni", "", "pred", "=pred pred u32",
     "uniform_of(x->meet(PTX_BALLOT, $2, $1, 0, 0, $@))"},
    {"vote.sync.ballot", "", "b32", "=b32 pred u32", "x->meet(PTX_BALLOT, $2, $1, 0, 0, $@)"},
    {"match.any.sync", "", "b32 b64", "=b32 t u32", "x->meet(PTX_MATCH_ANY, $2, $1, 0, 0, $@)"},
    {"match.all.sync", "", "b32 b64", "=b32|pred t u32",
     "matched(x->meet(PTX_MATCH_ALL, $2, $1, 0, 0, $@))"},
    {"redux.sync.add", "", WORDS, "=b b u32", "x->meet(PTX_REDUX_ADD, $2, $1, 0, 0, $@)"},
    {"redux.sync.min", "", "u32", "=b b u32", "x->meet(PTX_REDUX_MIN_U32, $2, $1, 0, 0, $@)"},
    {"redux.sync.max", "", "u32", "=b b u32", "x->meet(PTX_REDUX_MAX_U32, $2, $1, 0, 0, $@)"},
    {"redux.sync.min", "", "s32", "=b b u32", "x->meet(PTX_REDUX_MIN_S32, $2, $1, 0, 0, $@)"},
    {"redux.sync.max", "", "s32", "=b b u32", "x->meet(PTX_REDUX_MAX_S32, $2, $1, 0, 0, $@)"},
    {"redux.sync.and", "", "b32", "=t t u32", "x->meet(PTX_REDUX_AND, $2, $1, 0, 0, $@)"},
    {"redux.sync.or", "", "b32", "=t t u32", "x->meet(PTX_REDUX_OR, $2, $1, 0, 0, $@)"},
    {"redux.sync.xor", "", "b32", "=t t u32", "x->meet(PTX_REDUX_XOR, $2, $1, 0, 0, $@)"},
#define SHFL(mode, kind)                                                                           \
    {                                                                                              \
        "shfl.sync." mode, "", "b32", "=b32|pred b32 u32 u32 u32",                                 \
            "x->meet(" kind ", $4, $1, $2, $3, $@)"                                                \
    }
    SHFL("up", "PTX_SHFL_UP"),
    SHFL("down", "PTX_SHFL_DOWN"),
    SHFL("bfly", "PTX_SHFL_BFLY"),
    SHFL("idx", "PTX_SHFL_IDX"),
    {"activemask", "", "b32", "=b32", "1u << LANE"},
    {"elect.sync", "", "", "=b32|pred u32", "elected(x->meet(PTX_BALLOT, $1, 1, 0, 0, $@), LANE)"},
    {"nanosleep", "", "u32", "-", "x->sleep($@)"},
    {"setmaxnreg.inc.sync.aligned", "", "u32", "#", "x->registers($0, $@)"},
    {"setmaxnreg.dec.sync.aligned", "", "u32", "#", "x->registers($0, $@)"},
    {"barrier.cluster.arrive", "release relaxed aligned", "", "",
     "x->cluster_arrive(!$(relaxed), $@)"},
    {"barrier.cluster.wait", "acquire aligned", "", "", "x->cluster_wait(true, $@)"},
    {"mapa.shared::cluster", "", "u32", "=t u32 u32", "x->cluster_map($1, $2, $@)"},
    {"mapa.shared::cluster", "", "u64", "=t u64 u32", "x->cluster_map((uint32_t)$1, $2, $@)"},
    {"mapa", "", "u64", "=t u64 u32",
     "(uint64_t)(uintptr_t)x->cluster_map_generic((void *)(uintptr_t)$1, $2, $@)"},
    {"getctarank.shared::cluster", "", "u32 u64", "=u32 u32",
     "x->cluster_rank_of(x->cluster_address($1, $@))"},
    {"getctarank", "", "u64", "=u32 u64", "x->cluster_rank_of((void *)(uintptr_t)$1)"},
    {"griddepcontrol", "*", NULL, "", ""},
    {"pmevent", "*", NULL, "-", ""},
    {"brkpt", "", NULL, "", ""},

    /* asynchronous copies */
    {"cp.async.commit_group", "", "", "", "x->copy_commit()"},
    {"cp.async.wait_group", "", "", "#", "x->copy_wait($0, false)"},
    {"cp.async.wait_all", "", "", "", "x->copy_wait(0, true)"},
    {"cp.async.mbarrier.arrive", "noinc shared shared::cta", "b64", "[]",
     "x->copy_arrive($0, $(noinc), $@)"},
    {"cp.async.ca", "shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B", "", "",
     NULL, form_copy},
    {"cp.async.cg", "shared shared::cta global L2::cache_hint L2::64B L2::128B L2::256B", "", "",
     NULL, form_copy},
#define BULK_LOAD(space)                                                                           \
    {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes", "", "",                        \
     "[shared::cluster] [global] u32 [shared::cluster]", "x->bulk_load($0, $1, $2, $3, $@)"},      \
        {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes.L2::cache_hint", "", "",     \
         "[shared::cluster] [global] u32 [shared::cluster] -",                                     \
         "x->bulk_load($0, $1, $2, $3, $@)"},                                                      \
        {"cp.async.bulk." space ".global.mbarrier::complete_tx::bytes.multicast::cluster", "", "", \
         "[shared::cluster] [global] u32 [shared::cluster] u16",                                   \
         "x->bulk_load_to_all($0, $1, $2, $3, $4, $@)"},                                           \
    {                                                                                              \
        "cp.async.bulk." space                                                                     \
        ".global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",                  \
            "", "", "[shared::cluster] [global] u32 [shared::cluster] u16 -",                      \
            "x->bulk_load_to_all($0, $1, $2, $3, $4, $@)"                                          \
    }
    BULK_LOAD("shared::cluster"),
    BULK_LOAD("shared::cta"),
    {"cp.async.bulk.global.shared::cta.bulk_group", "", "", "[global] [shared] u32",
     "x->bulk_store($0, $1, $2, -1, 0, $@)"},
    {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "", "",
     "[global] [shared] u32 -", "x->bulk_store($0, $1, $2, -1, 0, $@)"},
    {"cp.async.bulk.prefetch", "*", NULL, "- -", ""},
    {"cp.async.bulk.prefetch", "*", NULL, "- - -", ""},
    {"cp.async.bulk.prefetch.tensor", "*", NULL, "-", ""},
    {"cp.async.bulk.commit_group", "", "", "", "x->bulk_commit()"},
    {"cp.async.bulk.wait_group", "read", "", "#", "x->bulk_wait($0, $(read), $@)"},
#define BULK_REDUCE(part, operation, type, name)                                                   \
    {                                                                                              \
        "cp.reduce.async.bulk.global.shared::cta.bulk_group." part, "", type,                      \
            "[global] [shared] u32", "x->bulk_store($0, $1, $2, " operation ", " name ", $@)"      \
    }
#define BULK_REDUCES(type, name)                                                                   \
    BULK_REDUCE("add", "PTX_REDUCE_ADD", type, name),                                              \
        BULK_REDUCE("min", "PTX_REDUCE_MIN", type, name),                                          \
        BULK_REDUCE("max", "PTX_REDUCE_MAX", type, name)
#define BULK_LOGIC(type, name)                                                                     \
    BULK_REDUCE("and", "PTX_REDUCE_AND", type, name),                                              \
        BULK_REDUCE("or", "PTX_REDUCE_OR", type, name),                                            \
        BULK_REDUCE("xor", "PTX_REDUCE_XOR", type, name)
    /* Types as tensor_map.h numbers them. */
    BULK_REDUCES("u32", "2"),
    BULK_REDUCES("s32", "3"),
    BULK_REDUCES("u64", "4"),
    BULK_REDUCES("s64", "5"),
    BULK_LOGIC("b32", "2"),
    BULK_LOGIC("b64", "4"),
    BULK_REDUCE("add", "PTX_REDUCE_ADD", "f32", "7"),
    BULK_REDUCE("add", "PTX_REDUCE_ADD", "f64", "8"),
    {"cp.async.bulk.tensor", "*", NULL, "", NULL, form_tensor_copy},
    {"cp.reduce.async.bulk.tensor", "*", NULL, "", NULL, form_tensor_copy},
    {"mbarrier.init", "shared shared::cta", "b64", "[] u32", "x->mbarrier_init($0, $1, $@)"},
    {"mbarrier.inval", "shared shared::cta", "b64", "[]", "x->mbarrier_invalidate($0, $@)"},
    {"mbarrier.expect_tx", "relaxed cta cluster shared shared::cta shared::cluster", "b64",
     "[] u32", "x->mbarrier_expect($0, $1, $@)"},
    {"mbarrier.complete_tx", "relaxed cta cluster shared shared::cta shared::cluster", "b64",
     "[] u32", "x->mbarrier_expect($0, -(int64_t)$1, $@)"},
#define ARRIVE(base, drop)                                                                         \
    {base, "release relaxed cta cluster shared shared::cta shared::cluster noComplete", "b64",     \
     "=b64 []", "x->mbarrier_arrive($1, 1, 0, " drop ", !$(noComplete), !$(relaxed), $@)"},        \
        {base, "release relaxed cta cluster shared shared::cta shared::cluster noComplete", "b64", \
         "=b64 [] u32",                                                                            \
         "x->mbarrier_arrive($1, $2, 0, " drop ", !$(noComplete), !$(relaxed), $@)"},              \
    {                                                                                              \
        base ".expect_tx", "release relaxed cta cluster shared shared::cta shared::cluster",       \
            "b64", "=b64 [] u32", "x->mbarrier_arrive($1, 1, $2, " drop ", true, !$(relaxed), $@)" \
    }
    ARRIVE("mbarrier.arrive", "false"),
    ARRIVE("mbarrier.arrive_drop", "true"),
#define WAIT(name, optional, third, try, parity)                                                   \
    {                                                                                              \
        name, "acquire relaxed cta cluster shared shared::cta", "b64", "=pred [] " third,          \
            "x->mbarrier_test($1, " parity ", " try ", !$(relaxed), $@)"                           \
    }
    WAIT("mbarrier.test_wait.parity", , "u32", "false", "$2 & 1"),
    WAIT("mbarrier.try_wait.parity", , "u32", "true", "$2 & 1"),
    WAIT("mbarrier.try_wait.parity", , "u32 -", "true", "$2 & 1"),
    WAIT("mbarrier.test_wait", , "u64", "false", "2 | (uint32_t)($2 >> 63)"),
    WAIT("mbarrier.try_wait", , "u64", "true", "2 | (uint32_t)($2 >> 63)"),
    WAIT("mbarrier.try_wait", , "u64 -", "true", "2 | (uint32_t)($2 >> 63)"),
    {"mbarrier.pending_count", "", "b64", "=u32 b64", "(uint32_t)($1 >> 43) & 0xfffff"},

    /* matrices */
    {"ldmatrix.sync", "aligned m8n8 x1 x2 x4 trans shared shared::cta", "b16", "", NULL,
     form_load_matrix},
    {"stmatrix.sync", "aligned m8n8 x1 x2 x4 trans shared shared::cta", "b16", "", NULL,
     form_store_matrix},
    {"movmatrix.sync.aligned.m8n8.trans", "", "b16", "=b32 b32", "x->move_matrix($1, $@)"},
    {"mma.sync", "aligned m16n8k32 m16n8k16 m16n8k8 m16n8k4 m8n8k4 row col rn satfinite", NULL, "",
     NULL, form_multiply},
#define WMMA_SHAPES "m16n16k16 m32n8k16 m8n32k16 m16n16k8 m8n8k4 row col "
#define WMMA(name, optional, form)                                                                 \
    { name ".sync.aligned", WMMA_SHAPES optional, NULL, "", NULL, form }
    WMMA("wmma.load.a", "global shared shared::cta", form_wmma_load),
    WMMA("wmma.load.b", "global shared shared::cta", form_wmma_load),
    WMMA("wmma.load.c", "global shared shared::cta", form_wmma_load),
    WMMA("wmma.store.d", "global shared shared::cta", form_wmma_store),
    WMMA("wmma.mma", "rn satfinite", form_wmma_multiply),
    {"tex", "*", NULL, "", NULL, form_texture},
    {"tld4", "*", NULL, "", NULL, form_gather},
    {"suld.b", "*", NULL, "", NULL, form_surface},
    {"sust.b", "*", NULL, "", NULL, form_surface},
    {"wgmma.mma_async.sync.aligned", "*", NULL, "", NULL, form_wgmma},
    {"wgmma.fence.sync.aligned", "", "", "", "++fences; x->wgmma_fence()"},
    {"wgmma.commit_group.sync.aligned", "", "", "", "x->wgmma_commit()"},
    {"wgmma.wait_group.sync.aligned", "", "", "", NULL, form_wgmma_wait},

    /* control */
    {"bra", "uni", "", "", NULL, form_branch},
    {"brx.idx", "uni", "", "", NULL, form_branch_index},
    {"call", "uni", "", "", NULL, form_call},
    {"ret", "uni", "", "", NULL, form_return},
    {"exit", "", "", "", NULL, form_exit},
    {"trap", "", "", "", "x->trap(\"trap\", \"trap was executed\", $@); return true"},
};
const size_t n_instruction_rows = sizeof instruction_rows / sizeof instruction_rows[0];
