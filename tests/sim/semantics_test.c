/* What each construct of CUDA C means on the simulated device, against plain loops on the host. */
#include "assay/rng.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/kernels.h"

#include <limits.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* The lane that is read, in the words of the CUDA C++ Programming Guide. */
static int shuffle_source(int kind, int lane, int operand, int width) {
    int segment = lane / width, place = lane % width;
    switch (kind) {
    case SIM_SHFL:
        return segment * width + operand % width;
    case SIM_SHFL_UP:
        return place >= operand ? lane - operand : lane;
    case SIM_SHFL_DOWN:
        return place + operand < width ? lane + operand : lane;
    default: /* an earlier group of threads may be read, a later one may not */
        return (lane ^ operand) / width <= segment ? lane ^ operand : lane;
    }
}

ASSAY_TEST(sim, shuffles_of_every_kind_operand_and_width, "unit sim") {
    for (int kind = 0; kind < SIM_SHFLS; ++kind)
        for (int width = 1; width <= 32; width *= 2)
            for (int operand = 0; operand < 32; ++operand) {
                int out[32];
                REQUIRE_OK(sim_shuffled(kind, operand, width, out));
                for (int lane = 0; lane < 32; ++lane)
                    CHECK_MSG(out[lane] == 100 + shuffle_source(kind, lane, operand, width),
                              "kind %d width %d operand %d lane %d: %d", kind, width, operand, lane,
                              out[lane]);
            }
}

ASSAY_TEST(sim, shuffles_of_every_type, "unit sim") {
    double in[32], out[6][32];
    for (int i = 0; i < 32; ++i)
        in[i] = 65536.0 * i + 7;
    REQUIRE_OK(sim_shuffled_types(in, out));
    for (int type = 0; type < 6; ++type)
        for (int i = 0; i < 32; ++i)
            CHECK(out[type][i] == in[31 - i]);
}

static void collect(uint32_t members, const uint32_t values[32], int lane, uint32_t want[]) {
    memset(want, 0, SIM_OUTS * sizeof want[0]);
    bool same = true;
    int32_t least = INT32_MAX, most = INT32_MIN;
    want[SIM_OUT_ALL] = 1;
    want[SIM_OUT_MIN] = want[SIM_OUT_AND] = UINT32_MAX;
    for (int other = 0; other < 32; ++other) {
        uint32_t v = values[other], bit = 1u << other;
        if ((members & bit) == 0)
            continue;
        want[SIM_OUT_BALLOT] |= v & 1 ? bit : 0;
        want[SIM_OUT_ANY] |= v & 1;
        want[SIM_OUT_ALL] &= v & 1;
        want[SIM_OUT_MATCH_ANY] |= v == values[lane] ? bit : 0;
        same = same && v == values[lane];
        want[SIM_OUT_ADD] += v;
        want[SIM_OUT_MIN] = v < want[SIM_OUT_MIN] ? v : want[SIM_OUT_MIN];
        want[SIM_OUT_MAX] = v > want[SIM_OUT_MAX] ? v : want[SIM_OUT_MAX];
        least = (int32_t)v < least ? (int32_t)v : least;
        most = (int32_t)v > most ? (int32_t)v : most;
        want[SIM_OUT_AND] &= v;
        want[SIM_OUT_OR] |= v;
        want[SIM_OUT_XOR] ^= v;
    }
    want[SIM_OUT_MATCH_ALL] = same ? members : 0;
    want[SIM_OUT_MIN_SIGNED] = (uint32_t)least;
    want[SIM_OUT_MAX_SIGNED] = (uint32_t)most;
}

static void check_collected(uint32_t members, const uint32_t values[32]) {
    uint32_t out[SIM_OUTS][32], want[SIM_OUTS];
    REQUIRE_OK(sim_collected(members, values, out));
    for (int lane = 0; lane < 32; ++lane) {
        collect(members >> lane & 1 ? members : ~members, values, lane, want);
        for (int i = 0; i < SIM_OUTS; ++i)
            CHECK_MSG(out[i][lane] == want[i], "collective %d lane %d of 0x%08x: 0x%x, not 0x%x", i,
                      lane, members, out[i][lane], want[i]);
    }
}

ASSAY_TEST(sim, collectives_with_full_and_partial_masks_under_every_schedule, "unit sim") {
    static const uint32_t masks[] = {0xffffffff, 0x0000ffff, 0x55555555, 1, 0x80000001, 0};
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        assay_sim_device()->schedule((assay_schedule)s, 1);
        for (size_t m = 0; m < sizeof masks / sizeof masks[0]; ++m)
            for (uint64_t kind = 0; kind < 4; ++kind) {
                uint32_t values[32];
                for (uint64_t i = 0; i < 32; ++i) {
                    uint32_t bits = (uint32_t)assay_rng_bits(kind, m, i);
                    values[i] = kind == 0   ? bits
                                : kind == 1 ? 3
                                : kind == 2 ? bits & 3
                                            : bits & ~1u;
                }
                check_collected(masks[m], values);
            }
    }
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
}

ASSAY_TEST(sim, barrier_votes_count_threads_that_have_not_exited, "unit sim") {
    for (int exited = 0; exited < 64; exited += 21)
        for (int ones = 0; ones <= 64; ++ones) {
            int values[64], out[3], count = 0;
            for (int t = 0; t < 64; ++t) {
                values[t] = t < ones ? t + 1 : 0;
                count += t >= exited && values[t] != 0;
            }
            REQUIRE_OK(sim_barrier_votes(values, exited, out));
            CHECK(out[0] == count);
            CHECK((out[1] != 0) == (count == 64 - exited));
            CHECK((out[2] != 0) == (count > 0));
        }
}

ASSAY_TEST(sim, indices_of_3d_grids_and_blocks, "unit sim") {
    const unsigned grid[3] = {3, 4, 5}, block[3] = {7, 3, 2};
    enum { CELLS = 3 * 4 * 5 * 7 * 3 * 2 };
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        assay_sim_device()->schedule((assay_schedule)s, 2);
        int out[CELLS] = {0};
        REQUIRE_OK(sim_index(grid, block, out));
        for (int i = 0; i < CELLS; ++i)
            CHECK_MSG(out[i] == 1, "schedule %d cell %d: %d", s, i, out[i]);
    }
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
}

ASSAY_TEST(sim, grid_stride_loops_reach_every_element_once, "unit sim") {
    enum { MOST = 1000 };
    static const int64_t sizes[] = {0, 1, 95, 96, 97, MOST};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        float in[MOST], out[MOST];
        for (int i = 0; i < MOST; ++i) {
            in[i] = (float)i;
            out[i] = -1.0f;
        }
        REQUIRE_OK(sim_grid_stride(sizes[k], in, out));
        for (int i = 0; i < MOST; ++i)
            CHECK(out[i] == (i < sizes[k] ? (float)(2 * i) : -1.0f));
    }
}

ASSAY_TEST(sim, bulk_adds_of_floats_take_subnormals_for_zero, "unit sim") {
    /* a sum that is rounded; an old value, a new one and a sum that are subnormal */
    alignas(16) const float values[4] = {0x1.8p-23f, 0x1p-126f, 0x1p-127f, -0x1p-126f};
    const float want[4] = {1 + 0x1p-22f, 0x1p-126f, 0x1p-126f, 0};
    alignas(16) float to[4] = {1, 0x1p-127f, 0x1p-126f, 0x1.8p-126f};
    REQUIRE_OK(sim_bulk_added(to, values));
    for (int i = 0; i < 4; ++i)
        CHECK_MSG(to[i] == want[i], "%d: %a, not %a", i, (double)to[i], (double)want[i]);
}

ASSAY_TEST(sim, a_block_loads_for_its_cluster, "unit sim") {
    enum { LINES = 32, LENGTH = 64, BLOCKS = 4 };
    alignas(16) static uint16_t in[LINES][LENGTH], out[BLOCKS][LINES][LENGTH];
    for (int i = 0; i < LINES; ++i)
        for (int j = 0; j < LENGTH; ++j)
            in[i][j] = (uint16_t)(i * LENGTH + j);
    REQUIRE_OK(sim_loaded_in_cluster(in[0], out[0][0], BLOCKS));
    for (int b = 0; b < BLOCKS; ++b)
        for (int i = 0; i < LINES; ++i)
            for (int j = 0; j < LENGTH; ++j)
                CHECK(out[b][i][(j / 8 ^ i % 8) * 8 + j % 8] == in[i][j]);
    CHECK(sim_loaded_in_cluster(in[0], out[0][0], 3) == ASSAY_ERR_DEVICE); /* half a cluster */
}

ASSAY_TEST(sim, atomics_return_the_old_value_and_store_the_new, "unit sim") {
    static const int64_t want[] = {
        8, UINT_MAX, 8, 8, -3, 3, 5, 7, 3, 1, 7, 6, 0, 6, 3, 4, 3, 5,
    };
    enum { CALLS = sizeof want / sizeof want[0] };
    int64_t out[2 * CALLS];
    REQUIRE_OK(sim_atomics(out));
    for (int i = 0; i < CALLS; ++i)
        CHECK_MSG(out[2 * i] == 5 && out[2 * i + 1] == want[i], "call %d: %lld, %lld", i,
                  (long long)out[2 * i], (long long)out[2 * i + 1]);
}

enum { ORDERED = 256 };

static void order_of(assay_schedule schedule, uint64_t seed,
                     assay_status (*launch)(int n, int *counter, int *order), int order[ORDERED]) {
    int counter = 0;
    bool seen[ORDERED] = {false};
    assay_sim_device()->schedule(schedule, seed);
    REQUIRE_OK(launch(ORDERED, &counter, order));
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    for (int i = 0; i < ORDERED; ++i) {
        CHECK(order[i] >= 0 && order[i] < ORDERED && !seen[order[i]]);
        seen[order[i]] = true;
    }
}

static void check_orders(assay_status (*launch)(int n, int *counter, int *order)) {
    int a[ORDERED], b[ORDERED];
    order_of(ASSAY_SCHEDULE_IN_ORDER, 0, launch, a);
    order_of(ASSAY_SCHEDULE_REVERSE, 0, launch, b);
    for (int i = 0; i < ORDERED; ++i)
        CHECK(a[i] == i && b[i] == ORDERED - 1 - i);
    for (int s = ASSAY_SCHEDULE_RANDOM; s <= ASSAY_SCHEDULE_WARP; ++s) {
        order_of((assay_schedule)s, 1, launch, b);
        CHECK(memcmp(a, b, sizeof a) != 0);
        order_of((assay_schedule)s, 1, launch, a);
        CHECK_MSG(memcmp(a, b, sizeof a) == 0, "schedule %d does not repeat", s);
        order_of((assay_schedule)s, 2, launch, a);
        CHECK_MSG(memcmp(a, b, sizeof a) != 0, "schedule %d ignores its seed", s);
    }
}

ASSAY_TEST(sim, schedules_order_threads, "unit sim") {
    check_orders(sim_thread_order);
}

ASSAY_TEST(sim, schedules_order_blocks, "unit sim") {
    check_orders(sim_block_order);
}

/* Some warp must be overtaken in the middle: that is what a change of priorities is. */
ASSAY_TEST(sim, the_warp_schedule_runs_lanes_in_order_and_changes_priorities, "unit sim") {
    int interrupted = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        int order[ORDERED], lane[ORDERED / 32] = {0};
        order_of(ASSAY_SCHEDULE_WARP, seed, sim_thread_order, order);
        for (int i = 0; i < ORDERED; ++i) {
            CHECK(order[i] % 32 == lane[order[i] / 32]++);
            interrupted += i > 0 && order[i] / 32 != order[i - 1] / 32 && order[i - 1] % 32 != 31;
        }
    }
    CHECK(interrupted > 0);
}

ASSAY_TEST(sim, a_correct_kernel_does_not_depend_on_the_schedule, "unit sim") {
    float in[256], first[2] = {0, 0}, out[2];
    for (uint64_t i = 0; i < 256; ++i)
        in[i] = (float)assay_rng_normal(1, 2, i);
    REQUIRE_OK(sim_sums(in, first));
    for (int s = 0; s < ASSAY_SCHEDULES; ++s)
        for (uint64_t seed = 0; seed < 5; ++seed) {
            assay_sim_device()->schedule((assay_schedule)s, seed);
            REQUIRE_OK(sim_sums(in, out));
            CHECK(out[0] == first[0] && out[1] == first[1]);
        }
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    double sum = 0.0;
    for (int i = 0; i < 256; ++i)
        sum += (double)in[i];
    for (int i = 0; i < 2; ++i) {
        double error = (double)first[i] - sum;
        CHECK_MSG(error * error <= 1e-8, "sum %d is off by %g", i, error);
    }
}

#if !defined(ASSAY_RECORDED) /* the recorder reports this one at its first launch */
ASSAY_TEST(sim, a_kernel_without_its_barrier_depends_on_the_schedule, "unit sim") {
    int in_order[64], reverse[64];
    REQUIRE_OK(sim_unordered(in_order));
    assay_sim_device()->schedule(ASSAY_SCHEDULE_REVERSE, 0);
    REQUIRE_OK(sim_unordered(reverse));
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    for (int t = 0; t < 64; ++t) {
        CHECK(in_order[t] == (t < 32 ? -1 : 63 - t));
        CHECK(reverse[t] == (t < 32 ? 63 - t : -1));
    }
}
#endif

ASSAY_TEST(sim, launch_arguments_convert_to_parameters, "unit sim") {
    int c = 9;
    double out[3];
    REQUIRE_OK(sim_converts(3, 5, &c, out));
    CHECK(out[0] == 3.0 * 1099511627776.0 && out[1] == 2.5 && out[2] == 9.0);
}

ASSAY_TEST(sim, a_lock_is_passed_from_thread_to_thread, "unit sim") {
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        int lock = 0, sum = 0;
        assay_sim_device()->schedule((assay_schedule)s, 3);
        REQUIRE_OK(sim_locked(&lock, &sum));
        CHECK(sum == 64 && lock == 0);
    }
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
}
