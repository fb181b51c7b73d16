#include "sim/turns.h"

#include <string.h>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

enum { LOG_LONGEST_INTERVAL = 12, LOG_LONGEST_HOLD = 5, HOLDS = 4 };

assay_schedule sim_schedule_kind;

static struct {
    uint64_t seed, launches; /* since the schedule was set */
    uint64_t random;         /* state of the generator */

    uint64_t n_blocks, factor, offset; /* block i of a shuffled launch: (factor i + offset) mod n */
} schedule;

const size_t sim_turns_bytes = sizeof(struct sim_turns);
struct sim_turns *sim_turns_now;

void sim_turns_use(struct sim_turns *of_block) {
    sim_turns_now = of_block;
}

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t draw(void) {
    uint64_t z = schedule.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t draw_below(uint32_t n) {
    return (uint32_t)((draw() >> 32) * n >> 32);
}

void sim_schedule_set(assay_schedule kind, uint64_t seed) {
    sim_schedule_kind = kind;
    schedule.seed = seed;
    schedule.launches = 0;
}

bool sim_schedule_draws(void) {
    return sim_schedule_kind == ASSAY_SCHEDULE_RANDOM || sim_schedule_kind == ASSAY_SCHEDULE_WARP;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void sim_schedule_launch(uint64_t n_blocks) {
    schedule.random = schedule.seed;
    schedule.random = draw() ^ schedule.launches++;
    schedule.n_blocks = n_blocks;
    do
        schedule.factor = 1 + draw() % n_blocks;
    while (gcd(schedule.factor, n_blocks) != 1);
    schedule.offset = draw() % n_blocks;
}

uint64_t sim_schedule_block(uint64_t i) {
    switch (sim_schedule_kind) {
    case ASSAY_SCHEDULE_IN_ORDER:
        return i;
    case ASSAY_SCHEDULE_REVERSE:
        return schedule.n_blocks - 1 - i;
    case ASSAY_SCHEDULE_RANDOM:
    case ASSAY_SCHEDULE_WARP:
        break;
    }
    return (uint64_t)(((unsigned __int128)schedule.factor * i + schedule.offset) %
                      schedule.n_blocks);
}

static void set_rank(int32_t warp, int32_t rank) {
    sim_turns_now->rank[warp] = (uint8_t)rank;
    sim_turns_now->warp[rank] = (uint8_t)warp;
}

static void rank_warps(void) {
    for (int32_t w = 0; w < SIM_MAX_WARPS; ++w)
        set_rank(w, sim_schedule_kind == ASSAY_SCHEDULE_REVERSE ? SIM_MAX_WARPS - 1 - w : w);
    if (sim_schedule_kind != ASSAY_SCHEDULE_WARP)
        return;
    for (uint32_t r = SIM_MAX_WARPS - 1; r > 0; --r) {
        uint32_t other = draw_below(r + 1);
        int32_t a = sim_turns_now->warp[r], b = sim_turns_now->warp[other];
        set_rank(a, (int32_t)other);
        set_rank(b, (int32_t)r);
    }
}

/* Intervals of every order of magnitude: a hazard may need a warp to lose its turn after a few
 * steps or after thousands. */
static uint32_t draw_interval(void) {
    return 1 + draw_below(1u << draw_below(LOG_LONGEST_INTERVAL + 1));
}

void sim_schedule_threads(int32_t n_threads) {
    memset(sim_turns_now->lanes, 0, sizeof sim_turns_now->lanes);
    memset(sim_turns_now->resting, 0, sizeof sim_turns_now->resting);
    sim_turns_now->ranks = 0;
    sim_turns_now->anyone_rests = false;
    sim_turns_now->progressed = false;
    sim_turns_now->held = -1;
    rank_warps();
    sim_turns_now->until_change = draw_interval();
    for (int32_t w = 0; w * SIM_WARP < n_threads; ++w) {
        int32_t lanes = n_threads - w * SIM_WARP;
        sim_schedule_wake(w, lanes >= SIM_WARP ? UINT32_MAX : (1u << lanes) - 1);
    }
}

void sim_schedule_rest(int32_t thread) {
    sim_schedule_sleep(thread);
    sim_turns_now->resting[thread / SIM_WARP] |= 1u << thread % SIM_WARP;
    sim_turns_now->anyone_rests = true;
}

static int32_t lowest(uint32_t bits) {
    return __builtin_ctz(bits);
}

/* Where the bit is that has n set bits below it. */
static int32_t nth_of(uint32_t bits, uint32_t n) {
#if defined(__BMI2__)
    return lowest(_pdep_u32(1u << n, bits));
#else
    for (; n > 0; --n)
        bits &= bits - 1;
    return lowest(bits);
#endif
}

static int32_t any_of(uint32_t bits) {
    return nth_of(bits, draw_below((uint32_t)__builtin_popcount(bits)));
}

/*
 * One of the warps that rest may go on resting while the others run, as long as they get anywhere.
 * So a warp that waits may be left behind by all that it waited for, and by what follows: it misses
 * phases of mbarriers, or finds flags set and cleared.
 */
static void choose_held(void) {
    struct sim_turns *turns = sim_turns_now;
    uint32_t warps = 0;
    if (turns->held >= 0 && turns->progressed && --turns->holding > 0)
        return;
    turns->held = -1;
    if (!turns->progressed || draw_below(HOLDS) != 0)
        return;
    for (int32_t w = 0; w < SIM_MAX_WARPS; ++w)
        warps |= (uint32_t)(turns->resting[w] != 0) << w;
    if ((warps & (warps - 1)) == 0)
        return;
    turns->held = any_of(warps);
    turns->holding = 1u << draw_below(LOG_LONGEST_HOLD + 1);
}

static void wake_but(int32_t held) {
    struct sim_turns *turns = sim_turns_now;
    turns->anyone_rests = held >= 0 && turns->resting[held] != 0;
    for (int32_t w = 0; w < SIM_MAX_WARPS; ++w) {
        if (w == held)
            continue;
        sim_schedule_wake(w, turns->resting[w]);
        turns->resting[w] = 0;
    }
}

static void wake_resting(void) {
    struct sim_turns *turns = sim_turns_now;
    if (sim_schedule_kind == ASSAY_SCHEDULE_WARP)
        choose_held();
    wake_but(turns->held);
    if (turns->ranks == 0)
        wake_but(turns->held = -1);
    turns->progressed = false;
}

void sim_schedule_progress(void) {
    sim_turns_now->progressed = true;
}

/* The warp of rank `top` falls behind all others. */
static void demote(int32_t top) {
    int32_t warp = sim_turns_now->warp[top];
    for (int32_t r = top; r + 1 < SIM_MAX_WARPS; ++r)
        set_rank(sim_turns_now->warp[r + 1], r);
    set_rank(warp, SIM_MAX_WARPS - 1);
    sim_turns_now->ranks = 0;
    for (int32_t w = 0; w < SIM_MAX_WARPS; ++w)
        sim_schedule_wake(w, 0);
}

/* Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, "A randomized
 * scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010) with warps for threads. */
static int32_t by_priority(void) {
    if (--sim_turns_now->until_change == 0) {
        sim_turns_now->until_change = draw_interval();
        demote(lowest(sim_turns_now->ranks));
    }
    int32_t warp = sim_turns_now->warp[lowest(sim_turns_now->ranks)];
    return warp * SIM_WARP + lowest(sim_turns_now->lanes[warp]);
}

bool sim_schedule_delays(void) {
    switch (sim_schedule_kind) {
    case ASSAY_SCHEDULE_IN_ORDER:
        return false;
    case ASSAY_SCHEDULE_REVERSE:
        return true;
    case ASSAY_SCHEDULE_RANDOM:
    case ASSAY_SCHEDULE_WARP:
        break;
    }
    return draw_below(2) != 0;
}

int32_t sim_schedule_choose(void) {
    if (sim_turns_now->ranks == 0 && sim_turns_now->anyone_rests)
        wake_resting();
    if (sim_turns_now->ranks == 0)
        return -1;
    switch (sim_schedule_kind) {
    case ASSAY_SCHEDULE_IN_ORDER:
    case ASSAY_SCHEDULE_REVERSE:
        break;
    case ASSAY_SCHEDULE_RANDOM: {
        const int32_t warp = sim_turns_now->warp[any_of(sim_turns_now->ranks)];
        return warp * SIM_WARP + any_of(sim_turns_now->lanes[warp]);
    }
    case ASSAY_SCHEDULE_WARP:
        return by_priority();
    }
    return sim_schedule_next();
}
