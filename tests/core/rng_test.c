#include "assay/rng.h"
#include "core/normal.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

/* Random123's known answers for philox4x32, 10 rounds. */
ASSAY_TEST(rng, philox_known_answers, "unit") {
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        uint32_t out[4];
        assay_philox4x32(known[i].counter, known[i].key, out);
        CHECK(memcmp(out, known[i].want, sizeof out) == 0);
    }
}

/* Recorded; an independent Philox and CPython's NormalDist().inv_cdf give the same bits. */
ASSAY_TEST(rng, normal_streams_never_change, "unit") {
    static const struct {
        const char *stream;
        uint64_t seed;
        double want[4];
    } recorded[] = {
        {"x",
         0,
         {-0x1.5cb945152f5ddp-3, 0x1.36dc0b319c161p-9, 0x1.f962aa623b3b1p-2, 0x1.08e4f101bd76ep-1}},
        {"w",
         1,
         {-0x1.041b135a2ca3ep+0, 0x1.322aee6f7cd52p+0, 0x1.42b334a7d5915p-5, 0x1.b9f7eccdc69afp+0}},
        {"dy",
         UINT64_C(0xfedcba9876543210),
         {0x1.07828bde252c9p-7, -0x1.894640aa6a791p-8, 0x1.23cdf78c7c0d9p+0,
          -0x1.4bd8fd93562fbp-1}},
    };
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; ++i)
        for (uint64_t k = 0; k < 4; ++k)
            CHECK(assay_rng_normal(recorded[i].seed, assay_rng_stream(recorded[i].stream), k) ==
                  recorded[i].want[k]);
}

ASSAY_TEST(rng, stream_is_fnv_1a, "unit") {
    CHECK(assay_rng_stream("") == UINT64_C(0xcbf29ce484222325));
    CHECK(assay_rng_stream("a") == UINT64_C(0xaf63dc4c8601ec8c));
    CHECK(assay_rng_stream("foobar") == UINT64_C(0x85944171f73967e8));
}

/* By way of the complementary error function: the quantile of the probability of z is z. */
ASSAY_TEST(rng, quantile_inverts_the_distribution, "unit") {
    for (int i = -820; i <= 820; ++i) {
        const double z = i / 100.0;
        const double p = erfc(-z / sqrt(2)) / 2;
        if (!(p < 1))
            continue;
        /* One unit in the last place of p moves z by 2^-53 / density, near 1 by far the most. */
        const double density = exp(-z * z / 2) / sqrt(2 * acos(-1));
        const double room = 1e-14 * fabs(z) + 1e-15 + 0x1p-52 * fmin(p, 0.5 + p * p / 2) / density;
        CHECK_MSG(fabs(assay_normal_quantile(p) - z) <= room, "z = %g comes back as %.17g", z,
                  assay_normal_quantile(p));
    }
    CHECK(assay_normal_quantile(0.5) == 0);
}

ASSAY_TEST(rng, quantile_is_finite_and_odd_in_the_tails, "unit") {
    CHECK(fabs(assay_normal_quantile(0x1p-54) + 8.292361075813595) < 1e-14);
    CHECK(assay_normal_quantile(0x1p-53) == -assay_normal_quantile(1 - 0x1p-53));
}

ASSAY_TEST(rng, moments, "unit") {
    enum { COUNT = 1000000 };
    double mean = 0, square = 0, cube = 0, fourth = 0, mean_u = 0, square_u = 0;
    for (uint64_t i = 0; i < COUNT; ++i) {
        const double z = assay_rng_normal(5, 7, i), u = assay_rng_uniform(5, 8, i);
        CHECK(u > 0 && u < 1);
        mean += z / COUNT;
        square += z * z / COUNT;
        cube += z * z * z / COUNT;
        fourth += z * z * z * z / COUNT;
        mean_u += u / COUNT;
        square_u += u * u / COUNT;
    }
    /* Five standard deviations of each estimate. */
    const double five = 5 / sqrt(COUNT);
    CHECK(fabs(mean) < five);
    CHECK(fabs(square - 1) < five * sqrt(2));
    CHECK(fabs(cube) < five * sqrt(15));
    CHECK(fabs(fourth - 3) < five * sqrt(96));
    CHECK(fabs(mean_u - 0.5) < five * sqrt(1.0 / 12));
    CHECK(fabs(square_u - 1.0 / 3) < five * sqrt(4.0 / 45));
}

ASSAY_TEST(rng, between_is_uniform_and_inclusive, "unit") {
    enum { COUNT = 70000 };
    assay_rng rng = {.seed = 3};
    int64_t hits[7] = {0};
    for (int i = 0; i < COUNT; ++i) {
        const int64_t v = assay_rng_between(&rng, -3, 3);
        REQUIRE(v >= -3 && v <= 3);
        ++hits[v + 3];
    }
    for (int i = 0; i < 7; ++i)
        CHECK(fabs((double)hits[i] - COUNT / 7.0) < 5 * sqrt(COUNT / 7.0));
    CHECK(assay_rng_between(&rng, 4, 4) == 4);
    (void)assay_rng_between(&rng, INT64_MIN, INT64_MAX);
}

ASSAY_TEST(rng, log_between_meets_every_octave, "unit") {
    enum { COUNT = 40000, OCTAVES = 10 };
    assay_rng rng = {.seed = 4};
    int64_t hits[OCTAVES + 1] = {0};
    for (int i = 0; i < COUNT; ++i) {
        const int64_t v = assay_rng_log_between(&rng, 1, 1023);
        REQUIRE(v >= 1 && v <= 1023);
        ++hits[(int)log2((double)v)];
    }
    for (int i = 0; i < OCTAVES; ++i)
        CHECK(hits[i] > COUNT / OCTAVES - 400 && hits[i] < COUNT / OCTAVES + 400);
    for (int i = 0; i < 1000; ++i) {
        const int64_t v = assay_rng_log_between(&rng, 5, 9);
        CHECK(v >= 5 && v <= 9);
    }
    CHECK(assay_rng_log_between(&rng, INT64_MAX, INT64_MAX) == INT64_MAX);
}
