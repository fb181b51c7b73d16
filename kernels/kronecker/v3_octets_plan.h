/*
 * The plan of kronecker v3 where all factors are 8 x 8 (v3_octets.h): a layer of two to five modes
 * is one pass, a longer one a pass of its first modes but three, and one of those three.
 *
 * A tile has all elements of the pass's modes: for UNITS consecutive places of (row, left) where
 * the pass begins with the last axis, else for COLUMNS consecutive places of right.
 */
#ifndef ASSAY_KRONECKER_V3_OCTETS_PLAN_H
#define ASSAY_KRONECKER_V3_OCTETS_PLAN_H

#include "kernels/kronecker/v3_eights_plan.h"

constexpr int OCTETS = EIGHT * EIGHT;

enum {
    MOST_OCTET_MODES = 5,   /* of a pass */
    TILE_OF_OCTETS = 16384, /* elements of the tile of fewer */
    UPPER_MODES = 3,        /* of the pass that takes part of right, */
    UPPER_COLUMNS = 32,     /* in runs of 128 bytes */
};

/* Where element `e` of a tile lies in shared memory. 4 in 68 places stay empty, and 8 more in 552,
 * so that lanes whose elements are 8, 64 or 512 apart meet different banks. The places of numbers
 * that share no bit add up. */
static __host__ __device__ constexpr int octet_place(int e) {
    return e + e / OCTETS * 4 + e / (EIGHT * OCTETS) * 8;
}

static __host__ __device__ constexpr int power_of_eight(int modes) {
    return 1 << (3 * modes);
}

/* The shape of a pass. Each thread has 128 elements: two octets of octets. */
template <int M, int C> struct octet_shape {
    static constexpr int MODES = M, COLUMNS = C;
    static constexpr int UNIT = power_of_eight(M);
    static constexpr int ELEMENTS = M == MOST_OCTET_MODES ? UNIT : TILE_OF_OCTETS;
    static constexpr int UNITS = ELEMENTS / UNIT / C;
    static constexpr bool SAVES = M > 3; /* a step between the first and the last */
    static constexpr int THREADS = ELEMENTS / (2 * OCTETS);
    /* registers: forward about 160, backward all 255 */
    static constexpr int FORWARD_BLOCKS = M == MOST_OCTET_MODES ? 1 : 3;
    static constexpr int BACKWARD_BLOCKS = M == MOST_OCTET_MODES ? 1 : 2;
};

/* The same for the host. */
struct octet_cut {
    int64_t tiles, blocks;
    int threads, shared; /* shared, and saved for each block: elements */
    int saved;
};

template <class S>
static inline octet_cut octet_cut_of(int64_t rows, int64_t left, int64_t right,
                                     assay_stage direction) {
    const bool forward = direction == ASSAY_FORWARD;
    octet_cut cut = {};
    cut.tiles = S::COLUMNS > 1 ? rows * (right / S::COLUMNS) : ceil_div(rows * left, S::UNITS);
    cut.blocks = clamp(cut.tiles, 0,
                       ASSAY_MULTIPROCESSORS * (forward ? S::FORWARD_BLOCKS : S::BACKWARD_BLOCKS));
    cut.saved = S::SAVES ? S::ELEMENTS : 0;
    cut.threads = S::THREADS;
    cut.shared = octet_place(S::ELEMENTS) + S::MODES * OCTETS * (forward ? 1 : 2);
    return cut;
}

/* Calls `with` for the shape of a pass of `modes`. */
template <typename With>
static inline auto with_octet_shape(int32_t modes, int64_t right, const With &with) {
    if (right > 1)
        return with(octet_shape<UPPER_MODES, UPPER_COLUMNS>());
    return modes == 2   ? with(octet_shape<2, 1>())
           : modes == 3 ? with(octet_shape<3, 1>())
           : modes == 4 ? with(octet_shape<4, 1>())
                        : with(octet_shape<5, 1>());
}

static inline octet_cut octet_cut_of(const pass &p, assay_stage direction) {
    return with_octet_shape(p.count, p.right, [&](auto shape) {
        return octet_cut_of<decltype(shape)>(p.rows, p.left, p.right, direction);
    });
}

/* False where some factor is not 8 x 8, or where the state does not fill the multiprocessors. */
static inline bool plan_octets(const chain &c, size_t element, plan *made) {
    const bool one = c.modes <= MOST_OCTET_MODES;
    const int32_t lower = one ? c.modes : c.modes - UPPER_MODES;
    if (element != sizeof(float) || c.modes < 2)
        return false;
    for (int32_t i = 0; i < c.count; ++i)
        if (c.stages[i].p != EIGHT || c.stages[i].q != EIGHT)
            return false;
    const stage &last = c.stages[lower - 1];
    const octet_cut cut = with_octet_shape(lower, 1, [&](auto shape) {
        return octet_cut_of<decltype(shape)>(c.rows, last.left, 1, ASSAY_BACKWARD);
    });
    if (cut.tiles < ASSAY_MULTIPROCESSORS ||
        cut.shared * (int64_t)sizeof(float) > ASSAY_SHARED_BUDGET)
        return false;
    *made = {};
    for (int32_t first = 0; first < c.count; first += c.modes) {
        if (!one)
            made->first[++made->count] = first + lower;
        made->first[++made->count] = first + c.modes;
    }
    made->width = made->count > 1 ? size_before(c.stages[0]) : 0;
    made->kind = PLAN_OCTETS;
    return true;
}

static inline plan plan_of(const chain &c, assay_stage direction, size_t element) {
    plan made = {};
    return plan_octets(c, element, &made) || plan_eights(c, direction, element, &made)
               ? made
               : plan_tiles(c, direction, element);
}

#endif
