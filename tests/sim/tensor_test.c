/*
 * Matrix instructions against plain loops, and, on random bits, against a second implementation of
 * their rule; matrix loads; asynchronous copies, right and wrong.
 */
#include "tests/sim/tensor.h"

#include "assay/dtype.h"
#include "assay/rng.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

enum { M = 16, N = 8, MAX_K = 16 };

typedef struct instruction {
    const char *name;
    int k, exponent_bits, fraction_bits;
    assay_dtype dtype; /* of the bits in an operand */
} instruction;

static const instruction instructions[] = {
    {"bf16", 16, 8, 7, ASSAY_BF16}, {"f16", 16, 5, 10, ASSAY_F16}, {"tf32", 8, 8, 23, ASSAY_F32}};
enum { INSTRUCTIONS = sizeof instructions / sizeof instructions[0] };

typedef struct tile {
    uint32_t a[M * MAX_K], b[MAX_K * N]; /* bits, row-major, with the instruction's k */
    float c[M * N];
} tile;

static void multiply(const instruction *in, const tile *x, float c[M * N]) {
    memcpy(c, x->c, sizeof x->c);
    if (in->dtype == ASSAY_F32) {
        REQUIRE_OK(tensor_mma_tf32(x->a, x->b, c));
        return;
    }
    uint16_t a[M * MAX_K], b[MAX_K * N];
    for (int i = 0; i < M * MAX_K; ++i)
        a[i] = (uint16_t)x->a[i];
    for (int i = 0; i < MAX_K * N; ++i)
        b[i] = (uint16_t)x->b[i];
    REQUIRE_OK(in->dtype == ASSAY_BF16 ? tensor_mma_bf16(a, b, c) : tensor_mma_f16(a, b, c));
}

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The operand's value: what is left of a TF32 operand when its low 13 bits are cut. */
static double operand(const instruction *in, uint32_t bits) {
    double value;
    const uint16_t half = (uint16_t)bits;
    bits &= ~0x1fffu;
    assay_dtype_widen(in->dtype, in->dtype == ASSAY_F32 ? (const void *)&bits : &half, &value, 1);
    return value;
}

/* The bits of a small integer, exact in every type. */
static uint32_t integer(const instruction *in, int value) {
    if (in->dtype != ASSAY_F16)
        return float_bits((float)value) >> (in->dtype == ASSAY_BF16 ? 16 : 0);
    if (value == 0)
        return 0;
    const uint32_t wide = float_bits((float)value);
    return (wide >> 16 & 0x8000u) | (((wide >> 23 & 0xff) - 112) << 10 | (wide >> 13 & 0x3ff));
}

ASSAY_TEST(tensor, integers_multiply_as_in_plain_loops, "unit sim") {
    assay_rng rng = {.seed = 1};
    for (int i = 0; i < INSTRUCTIONS; ++i) {
        const instruction *in = &instructions[i];
        int a[M][MAX_K], b[MAX_K][N];
        tile x;
        for (int j = 0; j < M * in->k; ++j) {
            a[j / in->k][j % in->k] = (int)assay_rng_between(&rng, -99, 99);
            x.a[j] = integer(in, a[j / in->k][j % in->k]);
        }
        for (int j = 0; j < in->k * N; ++j) {
            b[j / N][j % N] = (int)assay_rng_between(&rng, -99, 99);
            x.b[j] = integer(in, b[j / N][j % N]);
        }
        for (int j = 0; j < M * N; ++j)
            x.c[j] = (float)assay_rng_between(&rng, -9999, 9999);
        float got[M * N];
        multiply(in, &x, got);
        for (int row = 0; row < M; ++row)
            for (int column = 0; column < N; ++column) {
                float want = x.c[row * N + column];
                for (int k = 0; k < in->k; ++k)
                    want += (float)(a[row][k] * b[k][column]);
                CHECK_MSG(got[row * N + column] == want, "%s (%d,%d): %g, not %g", in->name, row,
                          column, (double)got[row * N + column], (double)want);
            }
    }
}

ASSAY_TEST(tensor, f64_is_a_chain_of_fmas, "unit sim") {
    assay_rng rng = {.seed = 2};
    for (int repeat = 0; repeat < 100; ++repeat) {
        double a[8][4], b[4][8], c[8][8], got[8][8];
        for (int i = 0; i < 32; ++i) {
            a[i / 4][i % 4] = assay_rng_normal(3, 0, rng.next++);
            b[i / 8][i % 8] = assay_rng_normal(3, 1, rng.next++);
        }
        for (int i = 0; i < 64; ++i)
            got[i / 8][i % 8] = c[i / 8][i % 8] = assay_rng_normal(3, 2, rng.next++);
        REQUIRE_OK(tensor_mma_f64(a[0], b[0], got[0]));
        for (int i = 0; i < 64; ++i) {
            double want = c[i / 8][i % 8];
            for (int k = 0; k < 4; ++k)
                want = fma(a[i / 8][k], b[k][i % 8], want);
            CHECK_MSG(got[i / 8][i % 8] == want, "(%d,%d): %a, not %a", i / 8, i % 8,
                      got[i / 8][i % 8], want);
        }
    }
}

ASSAY_TEST(tensor, f64_of_tall_tiles_is_a_chain_of_fmas, "unit sim") {
    assay_rng rng = {.seed = 3};
    for (int repeat = 0; repeat < 99; ++repeat) {
        const int depth = 4 << repeat % 3;
        double a[M * MAX_K], b[MAX_K * N], c[M * N], got[M * N];
        for (int i = 0; i < M * depth; ++i)
            a[i] = assay_rng_normal(5, 0, rng.next++);
        for (int i = 0; i < depth * N; ++i)
            b[i] = assay_rng_normal(5, 1, rng.next++);
        for (int i = 0; i < M * N; ++i)
            got[i] = c[i] = assay_rng_normal(5, 2, rng.next++);
        REQUIRE_OK(tensor_mma_tall_f64(depth, a, b, got));
        for (int i = 0; i < M * N; ++i) {
            double want = c[i];
            for (int k = 0; k < depth; ++k)
                want = fma(a[i / N * depth + k], b[k * N + i % N], want);
            CHECK_MSG(got[i] == want, "k %d (%d,%d): %a, not %a", depth, i / N, i % N, got[i],
                      want);
        }
    }
}

/* Exponent of a number as a format stores it: subnormals have the smallest. */
static int stored_exponent(double value, int exponent_bits) {
    const int smallest = 2 - (1 << (exponent_bits - 1));
    return value != 0 && ilogb(value) > smallest ? ilogb(value) : smallest;
}

static __int128 cut(double value, int unit) {
    double low = trunc(ldexp(value, -unit));
    return (__int128)low;
}

/* The rule of mma.c once more, in fp64 and 128-bit integers. */
static float by_the_rule(const instruction *in, const tile *x, int row, int column) {
    const double c = (double)x->c[row * N + column];
    double product[MAX_K];
    int exponent[MAX_K], largest = c != 0 ? stored_exponent(c, 8) : -10000;
    for (int k = 0; k < in->k; ++k) {
        double a = operand(in, x->a[row * in->k + k]), b = operand(in, x->b[k * N + column]);
        product[k] = a * b;
        exponent[k] = stored_exponent(a, in->exponent_bits) + stored_exponent(b, in->exponent_bits);
        if (product[k] != 0 && exponent[k] > largest)
            largest = exponent[k];
    }
    __int128 sum = cut(c, largest - 25);
    for (int k = 0; k < in->k; ++k)
        sum += cut(product[k], largest - 25);
    __int128 size = sum < 0 ? -sum : sum;
    int unit = largest - 25;
    while (size >= 1 << 24 || (size != 0 && unit < -149)) {
        size /= 2;
        ++unit;
    }
    double value = ldexp((double)size, unit);
    value = value >= 0x1p128 ? (double)INFINITY : value;
    return (float)(sum < 0 ? -value : value);
}

static int clamp(int value, int high) {
    return value < 0 ? 0 : value < high ? value : high;
}

/* Bits of a finite number whose exponent is at most `spread` from `centre`, as far as the format
 * has it, subnormals included; zero now and then, so that the rule for it is tried. */
static uint32_t random_bits(assay_rng *rng, int exponent_bits, int fraction_bits, int centre,
                            int spread) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int low = clamp(bias + centre - spread, 2 * bias);
    const int high = clamp(bias + centre + spread, 2 * bias);
    const uint64_t bits = assay_rng_bits(rng->seed, rng->stream, rng->next++);
    const uint32_t sign = (uint32_t)(bits >> 63) << (exponent_bits + fraction_bits);
    if ((bits >> 32 & 31) == 0)
        return sign;
    return sign | (uint32_t)assay_rng_between(rng, low, high) << fraction_bits |
           ((uint32_t)bits & ((1u << fraction_bits) - 1));
}

static void fill(const instruction *in, int centre, int spread, assay_rng *rng, tile *x) {
    for (int i = 0; i < M * in->k; ++i)
        x->a[i] = random_bits(rng, in->exponent_bits, in->fraction_bits, centre, spread);
    for (int i = 0; i < in->k * N; ++i)
        x->b[i] = random_bits(rng, in->exponent_bits, in->fraction_bits, centre, spread);
    for (int i = 0; i < M * N; ++i) {
        uint32_t bits = random_bits(rng, 8, 23, 2 * centre, 2 * spread);
        memcpy(&x->c[i], &bits, sizeof bits);
    }
}

static void check_rule(const instruction *in, int centre, int spread, assay_rng *rng) {
    tile x;
    float got[M * N];
    fill(in, centre, spread, rng, &x);
    multiply(in, &x, got);
    for (int i = 0; i < M * N; ++i) {
        float want = by_the_rule(in, &x, i / N, i % N);
        CHECK_MSG(float_bits(got[i]) == float_bits(want), "%s, 2^(%d +- %d) (%d,%d): %a, not %a",
                  in->name, centre, spread, i / N, i % N, (double)got[i], (double)want);
    }
}

ASSAY_TEST(tensor, random_bits_follow_the_rule, "unit sim") {
    /* Of the last two, products are subnormal in fp32, and beyond it. */
    static const int exponents[][2] = {{0, 0},  {0, 1},    {0, 6},   {0, 14},
                                       {0, 40}, {0, 1000}, {-68, 6}, {64, 2}};
    assay_rng rng = {.seed = 4};
    for (int i = 0; i < INSTRUCTIONS; ++i)
        for (int j = 0; j < 8; ++j)
            for (int repeat = 0; repeat < 40; ++repeat)
                check_rule(&instructions[i], exponents[j][0], exponents[j][1], &rng);
}

/* One row against one column: the other elements are zero. */
static float product_of(const float a[2], const float b[2], float c) {
    tile x;
    float got[M * N];
    memset(&x, 0, sizeof x);
    for (int k = 0; k < 2; ++k) {
        x.a[k] = float_bits(a[k]);
        x.b[k * N] = float_bits(b[k]);
    }
    x.c[0] = c;
    multiply(&instructions[2], &x, got);
    return got[0];
}

ASSAY_TEST(tensor, infinities_and_nans, "unit sim") {
    const float one[2] = {1, 1}, zero[2] = {0, 1}, infinite[2] = {INFINITY, 1}, nan[2] = {NAN, 1};
    const float opposite[2] = {1, -INFINITY}, huge[2] = {0x1p100f, 1};
    CHECK(product_of(infinite, one, 5) == INFINITY);
    CHECK(product_of(one, one, -INFINITY) == -INFINITY);
    CHECK(product_of(huge, huge, 0) == INFINITY);
    CHECK(float_bits(product_of(infinite, zero, 5)) == 0x7fffffffu);
    CHECK(float_bits(product_of(one, nan, 5)) == 0x7fffffffu);
    CHECK(float_bits(product_of(infinite, one, -INFINITY)) == 0x7fffffffu);
    CHECK(float_bits(product_of(infinite, opposite, 0)) == 0x7fffffffu);
}

ASSAY_TEST(tensor, every_matrix_load, "unit sim") {
    uint16_t in[32][8];
    uint32_t out[32][4];
    for (int i = 0; i < 32 * 8; ++i)
        in[i / 8][i % 8] = (uint16_t)(1000 + i);
    for (int form = 0; form < TENSOR_LOADS; ++form) {
        REQUIRE_OK(tensor_ldmatrix(form, in, out));
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const uint16_t(*matrix)[8] = &in[8 * i];
                const int g = lane / 4, t = lane % 4;
                uint32_t low = form < 3 ? matrix[g][2 * t] : matrix[2 * t][g];
                uint32_t high = form < 3 ? matrix[g][2 * t + 1] : matrix[2 * t + 1][g];
                uint32_t want = i < 1 << form % 3 ? low | high << 16 : 0;
                CHECK_MSG(out[lane][i] == want, "form %d lane %d register %d: %x, not %x", form,
                          lane, i, out[lane][i], want);
            }
    }
}

/* What a pipeline did: wrong values, a line of the recorder, or of any build where a copy goes to
 * memory that an earlier one has not left. */
typedef enum outcome {
    OUTCOME_RIGHT,
    OUTCOME_WRONG_VALUES,
    OUTCOME_RACE,
    OUTCOME_OVERWRITTEN,
    OUTCOMES
} outcome;

static outcome run_pipeline(tensor_pipeline kind, assay_schedule schedule, uint64_t seed) {
    const assay_device *device = assay_sim_device();
    float in[TENSOR_TILES][TENSOR_THREADS], out[TENSOR_THREADS];
    for (int i = 0; i < TENSOR_TILES * TENSOR_THREADS; ++i)
        in[i / TENSOR_THREADS][i % TENSOR_THREADS] = (float)(i * i % 1021);
    device->schedule(schedule, seed);
    assay_status status = tensor_pipelined(kind, (const float(*)[TENSOR_THREADS])in, out);
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    if (status != ASSAY_OK && strstr(assay_error(), "overwritten copy in pipelined"))
        return OUTCOME_OVERWRITTEN;
    if (status != ASSAY_OK) {
        CHECK_MSG(strstr(assay_error(), "race in pipelined"), "%s", assay_error());
        return OUTCOME_RACE;
    }
    for (int t = 0; t < TENSOR_THREADS; ++t) {
        float want = 0;
        for (int i = 0; i < TENSOR_TILES; ++i)
            want += in[i][TENSOR_THREADS - 1 - t];
        if (!(out[t] == want))
            return OUTCOME_WRONG_VALUES;
    }
    return OUTCOME_RIGHT;
}

enum { SEEDS = 10 };

static void count_outcomes(tensor_pipeline kind, assay_schedule schedule, int count[OUTCOMES]) {
    memset(count, 0, OUTCOMES * sizeof count[0]);
    for (uint64_t seed = 0; seed < SEEDS; ++seed)
        ++count[run_pipeline(kind, schedule, seed)];
}

ASSAY_TEST(tensor, a_correct_pipeline_is_not_reported, "unit sim") {
    int count[OUTCOMES];
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        count_outcomes(PIPELINE_RIGHT, (assay_schedule)s, count);
        CHECK(count[OUTCOME_RIGHT] == SEEDS);
    }
}

/* The thread that waits too little copies to where it copies already, under every schedule; with
 * two tiles it would read what it has poisoned itself. */
ASSAY_TEST(tensor, missing_waits_show, "unit sim") {
    int count[OUTCOMES];
    for (int s = 0; s < ASSAY_SCHEDULES; ++s)
        for (int kind = PIPELINE_NO_WAIT; kind <= PIPELINE_WAITS_FOR_LESS; ++kind) {
            count_outcomes((tensor_pipeline)kind, (assay_schedule)s, count);
            CHECK_MSG(count[OUTCOME_RIGHT] == 0, "%d, schedule %d: %d right", kind, s,
                      count[OUTCOME_RIGHT]);
        }
}

ASSAY_TEST(tensor, missing_barriers_show, "unit sim") {
    int count[OUTCOMES];
    for (int kind = PIPELINE_NO_BARRIER_BEFORE_READ; kind < PIPELINES; ++kind) {
        count_outcomes((tensor_pipeline)kind, ASSAY_SCHEDULE_WARP, count);
#if defined(ASSAY_RECORDED)
        CHECK_MSG(count[OUTCOME_RACE] == SEEDS, "%d: %d races", kind, count[OUTCOME_RACE]);
#else
        CHECK_MSG(count[OUTCOME_WRONG_VALUES] > 0, "%d: values were always right", kind);
#endif
    }
}

ASSAY_TEST(tensor, waits_cover_the_older_groups_only, "unit sim") {
    const uint32_t in[4] = {10, 11, 12, 13};
    uint32_t out[TENSOR_STEPS][4];
#if defined(ASSAY_RECORDED) /* which tells that it reads bytes that have not arrived */
    REQUIRE(tensor_groups(in, out) == ASSAY_ERR_KERNEL);
    CHECK(strstr(assay_error(), "uninitialised shared memory") != NULL);
#else
    REQUIRE_OK(tensor_groups(in, out));
#endif
    for (int step = 0; step < TENSOR_STEPS; ++step)
        for (int i = 0; i < 4; ++i) {
            uint32_t want = i < step && (i < 3 || step == 4) ? in[i] : UINT32_MAX;
            CHECK_MSG(out[step][i] == want, "step %d cell %d: %x, not %x", step, i, out[step][i],
                      want);
        }
}

ASSAY_TEST(tensor, bytes_beyond_the_valid_ones_are_zero, "unit sim") {
    _Alignas(16) unsigned char in[16];
    unsigned char out[TENSOR_CELLS][16];
    for (int i = 0; i < 16; ++i)
        in[i] = (unsigned char)(20 + i);
    REQUIRE_OK(tensor_zero_fill(in, out));
    for (int cell = 0; cell < TENSOR_CELLS; ++cell) {
        const int bytes = cell < 17 ? 16 : cell < 26 ? 8 : 4;
        const int valid = cell < 17 ? cell : cell < 26 ? cell - 17 : cell - 26;
        for (int i = 0; i < 16; ++i)
            CHECK(out[cell][i] == (i < valid ? in[i] : i < bytes ? 0 : 1));
    }
}

ASSAY_TEST(tensor, copies_are_complete_when_their_thread_exits, "unit sim") {
    const uint32_t in = 77;
    uint32_t out = 0;
    REQUIRE_OK(tensor_never_waits(&in, &out));
    CHECK(out == 77);
}

static const char *const misuse_lines[MISUSES] = {
    [MISUSE_EXITED_LANE] =
        "tensor.cu:1001: lanes missing in misused: block (0,0,0) thread (0,0,0) calls "
        "mma_m16n8k16_bf16, which takes all 32 lanes; lane 5 has exited",
    [MISUSE_ABSENT_LANE] = "which takes all 32 lanes; lane 20 does not exist in this block",
    [MISUSE_TWO_PLACES] =
        "tensor.cu:1101: divergent warp in misused: block (0,0,0) thread (0,0,0) calls "
        "mma_m16n8k8_tf32 here, thread (16,0,0) at tensor.cu:1102",
    [MISUSE_HALF_A_WARP] = "mismatched collectives in misused",
    [MISUSE_LDMATRIX_EXITED_LANE] = "calls ldmatrix, which takes all 32 lanes; lane 5 has exited",
    [MISUSE_LDMATRIX_MISALIGNED] =
        "tensor.cu:1201: misaligned address in misused: block (0,0,0) thread (9,0,0) "
        "calls ldmatrix with an address not aligned to 16",
    [MISUSE_COPY_MISALIGNED] = "calls cp_async with an address not aligned to 16",
    [MISUSE_COPY_TOO_MUCH] =
        "tensor.cu:1301: wrong size in misused: block (0,0,0) thread (0,0,0) calls cp_async_4 "
        "with more valid bytes than it has (5)",
    [MISUSE_COPY_OVERWRITTEN] =
        "tensor.cu:1401: overwritten copy in misused: block (0,0,0) thread (0,0,0) calls cp_async_4 "
        "into memory that was written before the copy was complete",
};

ASSAY_TEST(tensor, misuse_is_reported, "unit sim") {
    _Alignas(16) float out[32];
    for (int kind = 0; kind < MISUSES; ++kind)
        CHECK_FAILS(tensor_misused((tensor_misuse)kind, out), ASSAY_ERR_KERNEL, misuse_lines[kind]);
}

ASSAY_TEST(tensor, a_matrix_load_orders_no_memory, "unit sim") {
    uint32_t out[32];
    REQUIRE_OK(tensor_store_and_load(1, out));
    for (uint32_t t = 0; t < 32; ++t)
        CHECK(out[t] == t / 4 + t % 4 * 8);
#if defined(ASSAY_RECORDED)
    CHECK_FAILS(tensor_store_and_load(0, out), ASSAY_ERR_KERNEL, "race in store_and_load");
#endif
}
