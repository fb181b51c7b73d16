#include "bench/profile/occupancy.h"

enum {
    WARP = 32,
    PARTITIONS = 4,      /* of a multiprocessor, each with its part of the registers */
    REGISTER_UNIT = 256, /* registers are given to warps in this many */
    SHARED_UNIT = 128,   /* bytes */
};

static uint32_t round_up(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Blocks that the registers suffice for: warps lie in partitions whole. */
static uint32_t by_registers(const profile_record *k, const profile_limits *l, uint32_t warps) {
    const uint32_t of_warp = round_up(k->registers * WARP, REGISTER_UNIT);
    if (of_warp == 0)
        return l->blocks;
    return l->registers / PARTITIONS / of_warp * PARTITIONS / warps;
}

static uint32_t by_shared(const profile_record *k, const profile_limits *l) {
    const uint32_t bytes =
        round_up(k->static_shared + k->dynamic_shared + l->reserved_shared, SHARED_UNIT);
    return bytes == 0 ? l->blocks : l->shared / bytes;
}

static void limit_to(profile_occupancy *o, uint32_t blocks, const char *what) {
    if (blocks >= o->blocks)
        return;
    o->blocks = blocks;
    o->limit = what;
}

profile_occupancy occupancy_of(const profile_record *k, const profile_limits *l) {
    const uint32_t threads = k->block[0] * k->block[1] * k->block[2];
    const uint32_t warps = (threads + WARP - 1) / WARP, most = l->threads / WARP;
    profile_occupancy o = {.blocks = 0, .limit = "threads"};
    if (warps == 0 || most == 0)
        return o;
    o.blocks = most / warps;
    limit_to(&o, l->blocks, "blocks");
    limit_to(&o, by_registers(k, l, warps), "registers");
    limit_to(&o, by_shared(k, l), "shared memory");
    o.share = (double)(o.blocks * warps) / most;
    return o;
}
