/*
 * The order in which attention v3_hopper works on heads. They come in groups, one group behind the
 * other, so small that what the tiles of a group share stays in the L2 cache; in a group the tiles
 * come by turns from each head.
 *
 * With causal=1 tiles have walks of different lengths, in every group from the shortest on or from
 * the longest on, by turns: a block that has had a short walk gets a long one. The last group ends
 * with the shortest.
 */
#ifndef ASSAY_ATTENTION_HOPPER_GROUPS_H
#define ASSAY_ATTENTION_HOPPER_GROUPS_H

#include "kernels/attention/v3_plan.h"

/* A multiprocessor's share of two thirds of an L2 cache of 50 MB; the rest is for what is not
 * shared, and for the group before. */
static constexpr int64_t CACHE = 256 << 10;

/* The first `larger` groups have heads + 1 heads, the others `heads`. */
struct head_groups {
    int64_t heads, larger;
};

/* `wanted` groups, but about `most`, of which each has tiles enough, at the most. With causal=1
 * they are even in number, or there is but one, of one head or where `most` is 0. */
static inline head_groups groups_of(const sizes &n, int64_t wanted, int64_t most) {
    const int64_t count = clamp(wanted, 1, clamp(most, 1, n.heads));
    const bool turns = n.causal && most > 0 && n.heads > 1;
    const int64_t even = clamp(count + count % 2, 2, n.heads - n.heads % 2);
    const int64_t groups = turns ? even : count;
    return {n.heads / groups, n.heads % groups};
}

/* A tile's head, the number of its turn in its group, and the group's. */
struct turn_of_head {
    uint32_t head, turn, group;
};

/* Of the tile that comes behind `number` others; each head has `tiles` of them. There are less than
 * 2^32, which have more elements than memory has. */
static __device__ __forceinline__ turn_of_head turn_at(const head_groups &groups, uint32_t tiles,
                                                       uint32_t number) {
    const uint32_t least = (uint32_t)groups.heads, larger = (uint32_t)groups.larger;
    const uint32_t in_larger = larger * (least + 1), head = number / tiles;
    const bool is_larger = head < in_larger;
    const uint32_t heads = least + is_larger, before = is_larger ? 0 : in_larger;
    const uint32_t group = (head - before) / heads, begin = before + group * heads;
    const uint32_t inside = number - begin * tiles;
    return {begin + inside % heads, inside / heads, group + (is_larger ? 0 : larger)};
}

#endif
