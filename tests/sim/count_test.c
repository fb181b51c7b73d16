/*
 * The counters: kernels whose requests, sectors, bank conflicts and meetings follow from their
 * source by hand, whichever compiler made them and whichever schedule runs them.
 */
#include "tests/sim/count.h"

#include "sim/count/count.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <inttypes.h>
#include <string.h>

/* The requests that a launch is expected to make; those that are not named are 0. */
typedef struct expected {
    const char *name;
    sim_requests load, store, atomic;                      /* of global memory */
    sim_requests shared_load, shared_store, shared_atomic; /* of shared memory */
    sim_meetings met;
    uint64_t event[SIM_EVENTS];
} expected;

/* Requests of all lanes that cost what they must. */
#define FULL(n, each, sum)                                                                         \
    { .requests = n, .lanes = 32 * n, .bytes = each, .steps = sum, .ideal = sum }

static const expected table[COUNT_KERNELS] = {
    /* A warp's 32 ints are 128 bytes: 4 sectors. */
    [COALESCED] = {"coalesced", .load = FULL(2, 256, 8), .store = FULL(2, 256, 8)},
    /* Each int in a sector of its own. */
    [STRIDED] = {"strided",
                 .load = {.requests = 2, .lanes = 64, .bytes = 256, .steps = 64, .ideal = 8},
                 .store = FULL(2, 256, 8)},
    /* 128 bytes from byte 4 on lie in 5 sectors. */
    [SHIFTED] = {"shifted",
                 .load = {.requests = 2, .lanes = 64, .bytes = 256, .steps = 10, .ideal = 8},
                 .store = FULL(2, 256, 8)},
    /* The lanes' bytes are the same four. */
    [ONE_FOR_ALL] = {"one for all", .load = FULL(2, 256, 2), .store = FULL(2, 256, 8)},
    [WHOLE] = {"whole", .load = FULL(2, 1024, 32), .store = FULL(2, 1024, 32)},
    /* 16 ints are 64 bytes, spread over 4 sectors. */
    [EVERY_OTHER] =
        {"every other",
         .store = {.requests = 2, .partial = 2, .lanes = 32, .bytes = 128, .steps = 8, .ideal = 4}},
    /* Of 3 blocks: 32 threads, then 8 threads, whose 8 ints are one sector. */
    [LAST_WARP_NOT_FULL] =
        {"last warp not full",
         .load =
             {.requests = 6, .partial = 3, .lanes = 120, .bytes = 480, .steps = 15, .ideal = 15},
         .store =
             {.requests = 6, .partial = 3, .lanes = 120, .bytes = 480, .steps = 15, .ideal = 15}},
    /* A warp's trips: 24 lanes, 16, 8; three of each four neighbours, two, one. All four sectors,
     * for 96, 64 and 32 bytes. */
    [TRIPS_BY_LANE] = {"trips by lane", .load = {.requests = 6,
                                                 .partial = 6,
                                                 .lanes = 96,
                                                 .bytes = 384,
                                                 .steps = 24,
                                                 .ideal = 12}},
    /* First round: 16 lanes, then 8; second: 16. One address each. */
    [HALF_WARPS] =
        {"half warps",
         .load = {.requests = 3, .partial = 3, .lanes = 40, .bytes = 160, .steps = 3, .ideal = 3},
         .met = {.syncwarps = 2}},
    /* Each of two warps: 32 lanes, then 8; 32 lanes in the second round. */
    [ROUNDS_OF_BLOCKS] =
        {"rounds of blocks",
         .load = {.requests = 6, .partial = 2, .lanes = 144, .bytes = 576, .steps = 6, .ideal = 6},
         .met = {.barriers = 2}},
    [ROUNDS_OF_WARPS] =
        {"rounds of warps",
         .load = {.requests = 6, .partial = 2, .lanes = 144, .bytes = 576, .steps = 6, .ideal = 6},
         .met = {.syncwarps = 4}},
    /* A column of 32 words lies in one bank: 32 passes for each of 32 warps. */
    [TRANSPOSED] =
        {"transposed", .load = FULL(32, 4096, 128), .store = FULL(32, 4096, 128),
         .shared_store = FULL(32, 4096, 32),
         .shared_load = {.requests = 32, .lanes = 1024, .bytes = 4096, .steps = 1024, .ideal = 32},
         .met = {.barriers = 1}},
    /* One word more in each row, and it lies in 32 banks. */
    [TRANSPOSED_PADDED] = {"transposed, padded", .load = FULL(32, 4096, 128),
                           .store = FULL(32, 4096, 128), .shared_store = FULL(32, 4096, 32),
                           .shared_load = FULL(32, 4096, 32), .met = {.barriers = 1}},
    /* 512 bytes, 128 at a time. */
    [WIDE_SHARED] = {"wide shared", .store = FULL(1, 512, 16), .shared_store = FULL(4, 512, 4),
                     .shared_load = FULL(1, 512, 4), .met = {.barriers = 1}},
    /* Every eighth word: 4 banks, 8 words each. */
    [CONFLICTS_OF_EIGHT] =
        {"conflicts of eight", .store = FULL(1, 128, 4), .shared_store = FULL(8, 1024, 8),
         .shared_load = {.requests = 1, .lanes = 32, .bytes = 128, .steps = 8, .ideal = 1},
         .met = {.barriers = 1}},
    /* Two warps; 16 lanes at each of two addresses, 8 at each of four. */
    [ATOMICS] =
        {"atomics",
         .atomic =
             {.requests = 2, .lanes = 64, .bytes = 256, .steps = 2, .ideal = 2, .repeats = 14},
         .shared_store =
             {.requests = 1, .partial = 1, .lanes = 2, .bytes = 8, .steps = 1, .ideal = 1},
         .shared_atomic =
             {.requests = 2, .lanes = 64, .bytes = 256, .steps = 2, .ideal = 2, .repeats = 30},
         .met = {.barriers = 1}},
    /* A matrix is 8 rows of 16 bytes: 128 bytes, one pass where they are neighbours. */
    [MATRICES] = {"matrices", .store = FULL(4, 512, 16), .shared_store = FULL(4, 512, 4),
                  .shared_load = FULL(1, 512, 4), .met = {.syncwarps = 1, .ldmatrix = 1}},
    /* Rows of 128 bytes: all 8 of a matrix begin in the same bank. */
    [MATRICES_IN_LINE] =
        {"matrices in line", .store = FULL(4, 512, 16), .shared_store = FULL(32, 4096, 32),
         .shared_load = {.requests = 1, .lanes = 32, .bytes = 512, .steps = 32, .ideal = 4},
         .met = {.syncwarps = 1, .ldmatrix = 1}},
    /* 24 lanes read 16 bytes, all 32 write them. */
    [ASYNC_COPY] =
        {"async copy",
         .load = {.requests = 1, .partial = 1, .lanes = 24, .bytes = 384, .steps = 12, .ideal = 12},
         .store = FULL(1, 128, 4), .shared_store = FULL(1, 512, 4), .shared_load = FULL(1, 128, 1),
         .met = {.barriers = 1, .cp_async = 1}},
    [COLLECTIVES] = {"collectives", .store = FULL(2, 256, 8),
                     .met = {.barriers = 1,
                             .syncwarps = 2,
                             .shuffles = 4,
                             .votes = 4,
                             .matches = 2,
                             .reductions = 2}},
    /* Of a box's lines 64 and 100 are in the matrix, and 50 of those that are stored: three sectors
     * each. Bytes are those of whole boxes. */
    [HOPPER] = {"Hopper", .met = {.barriers = 2},
                .event = {[SIM_EVENT_MULTIPLY_ADDS] = 64 * 128 * 16,
                          [SIM_EVENT_WGMMA_BF16] = 1,
                          [SIM_EVENT_BULK_LOADS] = 2,
                          [SIM_EVENT_BULK_LOAD_BYTES] = (64 + 128) * 128,
                          [SIM_EVENT_BULK_LOAD_SECTORS] = 3 * (64 + 100),
                          [SIM_EVENT_BULK_STORES] = 1,
                          [SIM_EVENT_BULK_STORE_BYTES] = 64 * 128,
                          [SIM_EVENT_BULK_STORE_SECTORS] = 3 * 50,
                          [SIM_EVENT_MBARRIER_PHASES] = 1,
                          [SIM_EVENT_MBARRIER_WAITS] = 128}},
};

/* The only launch of this kernel, counted. */
static const sim_count *count(count_kernel kernel, assay_schedule schedule) {
    const assay_device *device = assay_sim_device();
    void *in = NULL, *out = NULL;
    REQUIRE_OK(device->alloc(COUNT_INTS * sizeof(int), &in));
    REQUIRE_OK(device->alloc(COUNT_INTS * sizeof(int), &out));
    device->schedule(schedule, 1);
    sim_count_begin();
    const assay_status status = count_launch(kernel, in, out);
    sim_count_end();
    device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    device->release(in);
    device->release(out);
    REQUIRE_OK(status);
    REQUIRE(sim_count_launches() == 1);
    return sim_count_at(0);
}

static void check_requests(const char *name, const char *of, const sim_requests *got,
                           const sim_requests *want) {
    CHECK_MSG(memcmp(got, want, sizeof *got) == 0,
              "%s, %s: %" PRIu64 " requests (%" PRIu64 " partial) of %" PRIu64 " lanes, %" PRIu64
              " bytes, %" PRIu64 " steps, ideally %" PRIu64 ", %" PRIu64
              " repeats; expected %" PRIu64 " (%" PRIu64 ") of %" PRIu64 ", %" PRIu64 ", %" PRIu64
              ", %" PRIu64 ", %" PRIu64,
              name, of, got->requests, got->partial, got->lanes, got->bytes, got->steps, got->ideal,
              got->repeats, want->requests, want->partial, want->lanes, want->bytes, want->steps,
              want->ideal, want->repeats);
}

/* How often a thread looks at an mbarrier too early depends on the schedule: never where copies are
 * done at once, and at least once where they are done as late as may be. */
static bool stalls_well(uint64_t stalls, uint64_t waits, assay_schedule schedule) {
    switch (schedule) {
    case ASSAY_SCHEDULE_IN_ORDER:
        return stalls == 0;
    case ASSAY_SCHEDULE_REVERSE:
        return (stalls > 0) == (waits > 0);
    default:
        return stalls == 0 || waits > 0;
    }
}

static void check_events(const expected *want, const sim_count *got, assay_schedule schedule) {
    for (int e = 0; e < SIM_EVENT_MBARRIER_STALLS; ++e)
        CHECK_MSG(got->event[e] == want->event[e], "%s: event %d: %" PRIu64 ", expected %" PRIu64,
                  want->name, e, got->event[e], want->event[e]);
    CHECK_MSG(stalls_well(got->event[SIM_EVENT_MBARRIER_STALLS],
                          got->event[SIM_EVENT_MBARRIER_WAITS], schedule),
              "%s: %" PRIu64 " stalls", want->name, got->event[SIM_EVENT_MBARRIER_STALLS]);
}

static void check_kernel(void *context) {
    const expected *want = context;
    for (int s = 0; s < ASSAY_SCHEDULES; ++s) {
        const sim_count *got = count((count_kernel)(want - table), (assay_schedule)s);
        check_requests(want->name, "loads", &got->global[SIM_READ], &want->load);
        check_requests(want->name, "stores", &got->global[SIM_WRITE], &want->store);
        check_requests(want->name, "atomics", &got->global[SIM_ATOMIC], &want->atomic);
        check_requests(want->name, "shared loads", &got->shared[SIM_READ], &want->shared_load);
        check_requests(want->name, "shared stores", &got->shared[SIM_WRITE], &want->shared_store);
        check_requests(want->name, "shared atomics", &got->shared[SIM_ATOMIC],
                       &want->shared_atomic);
        CHECK_MSG(memcmp(&got->met, &want->met, sizeof got->met) == 0,
                  "%s: other meetings than expected, %" PRIu64 " barriers and %" PRIu64
                  " shuffles among them",
                  want->name, got->met.barriers, got->met.shuffles);
        check_events(want, got, (assay_schedule)s);
    }
}

__attribute__((constructor)) static void register_kernels(void) {
    for (int i = 0; i < COUNT_KERNELS; ++i)
        assay_test_register("count", table[i].name, "race sim", check_kernel, (void *)&table[i]);
}

ASSAY_TEST(count, names_the_launch, "race sim") {
    const sim_count *got = count(CONFLICTS_OF_EIGHT, ASSAY_SCHEDULE_IN_ORDER);
    CHECK_STREQ(got->kernel, "conflicts_of_eight");
    CHECK(got->grid.x == 1 && got->grid.y == 1 && got->block.x == 32 && got->block.z == 1);
    CHECK(got->dynamic_shared == 1024);
}

/* A launch that is counted is not recorded, and one that is not counted is. */
ASSAY_TEST(count, only_when_asked, "race sim") {
    const assay_device *device = assay_sim_device();
    void *memory = NULL;
    (void)count(COALESCED, ASSAY_SCHEDULE_IN_ORDER);
    REQUIRE_OK(device->alloc(COUNT_INTS * sizeof(int), &memory));
    const assay_status status = count_launch(COALESCED, memory, memory);
    device->release(memory);
    REQUIRE_OK(status);
    CHECK(sim_count_launches() == 1);
}
