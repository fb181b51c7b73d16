/* bf16 and f16 of the simulated device against the core's rounding, which works in fp64. */
#include "assay/dtype.h"
#include "device/kernel.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

/* One of the two formats, as bits, so that one test does for both. */
struct format {
    assay_dtype dtype;
    float (*widen)(unsigned short bits);
    unsigned short (*narrow)(float value);
    unsigned short (*narrow_double)(double value);
};

static const format bf16 = {
    ASSAY_BF16,
    [](unsigned short bits) { return __bfloat162float(__ushort_as_bfloat16(bits)); },
    [](float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); },
    [](double value) { return __bfloat16_as_ushort(__double2bfloat16(value)); },
};
static const format f16 = {
    ASSAY_F16,
    [](unsigned short bits) { return __half2float(__ushort_as_half(bits)); },
    [](float value) { return __half_as_ushort(__float2half_rn(value)); },
    [](double value) { return __half_as_ushort(__double2half(value)); },
};

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check_rounds(const format &f, double value) {
    double want = assay_dtype_round(f.dtype, value);
    double got = f.widen(f.narrow_double(value));
    CHECK_MSG(bits_of(got) == bits_of(want), "%s of %a: %a, not %a", assay_dtype_name(f.dtype),
              value, got, want);
    float narrowed = (float)value;
    want = assay_dtype_round(f.dtype, narrowed);
    got = f.widen(f.narrow(narrowed));
    CHECK_MSG(bits_of(got) == bits_of(want), "%s of %a: %a, not %a", assay_dtype_name(f.dtype),
              (double)narrowed, got, want);
}

/* Every value, both of its boundaries (half way to the next), and both neighbours of those. */
static void check_format(const format &f) {
    for (unsigned i = 0; i <= 0xffff; ++i) {
        unsigned short bits = (unsigned short)i;
        double value, next;
        unsigned short after = (unsigned short)(bits + 1);
        assay_dtype_widen(f.dtype, &bits, &value, 1);
        assay_dtype_widen(f.dtype, &after, &next, 1);
        if (isnan(value)) {
            CHECK(isnan(f.widen(bits)));
            continue;
        }
        CHECK_MSG(bits_of(f.widen(bits)) == bits_of(value), "%s 0x%04x widens to %a, not %a",
                  assay_dtype_name(f.dtype), i, (double)f.widen(bits), value);
        CHECK(f.narrow((float)value) == bits);
        CHECK(f.narrow_double(value) == bits);
        if (isinf(value))
            continue;
        double half = isinf(next) ? value + (value - assay_dtype_round(f.dtype, value * 0.999)) / 2
                                  : value + (next - value) / 2;
        check_rounds(f, half);
        check_rounds(f, nextafter(half, -INFINITY));
        check_rounds(f, nextafter(half, INFINITY));
        check_rounds(f, (double)nextafterf((float)half, -INFINITY));
        check_rounds(f, (double)nextafterf((float)half, INFINITY));
    }
    CHECK(f.narrow(NAN) == 0x7fff);
    CHECK(f.narrow(-NAN) == 0x7fff);
    CHECK(f.narrow_double((double)NAN) == 0x7fff);
    check_rounds(f, 70000.0); /* beyond f16, finite in bf16 */
    check_rounds(f, 1e300);
    check_rounds(f, -1e300);
    check_rounds(f, 1e-300);
    check_rounds(f, -1e-300);
}

ASSAY_TEST(bfloat, bf16_every_value_and_boundary, "unit sim") {
    check_format(bf16);
}

ASSAY_TEST(bfloat, f16_every_value_and_boundary, "unit sim") {
    check_format(f16);
}

ASSAY_TEST(bfloat, pairs_keep_their_order, "unit sim") {
    __nv_bfloat162 b = __floats2bfloat162_rn(1.0f, -2.0f);
    CHECK(__bfloat162float(__low2bfloat16(b)) == 1.0f && __high2float(b) == -2.0f);
    float2 v = __bfloat1622float2(__float22bfloat162_rn(make_float2(3.0f, 4.0f)));
    CHECK(v.x == 3.0f && v.y == 4.0f);
    __half2 h = __halves2half2(__float2half(1.0f), __float2half(-2.0f));
    CHECK(__low2float(h) == 1.0f && __half2float(__high2half(h)) == -2.0f);
    v = __half22float2(__float22half2_rn(make_float2(3.0f, 4.0f)));
    CHECK(v.x == 3.0f && v.y == 4.0f);
    static_assert(sizeof(__half2) == 4 && alignof(__nv_bfloat162) == 4);
}
