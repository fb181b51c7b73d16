/*
 * The plan of kronecker v3 where all factors are squares of 8, 16 or 32 (v3_octets.h,
 * v3_squares.h), whose passes have few shapes, all known to the compiler.
 *
 *     8     a layer of two to five modes is one pass; of a longer one the last three modes of the
 *           chain are a pass of their own
 *     16    two modes to a pass, so only layers of an even number
 *     32    forward three modes that are a layer; else two, then one to a pass
 */
#ifndef ASSAY_KRONECKER_V3_SQUARES_PLAN_H
#define ASSAY_KRONECKER_V3_SQUARES_PLAN_H

#include "kernels/kronecker/v3_eights_plan.h"
#include "kernels/kronecker/v3_view.h"

constexpr int OCTETS = EIGHT * EIGHT;

enum {
    MOST_OCTET_MODES = 5, /* of a pass */
    UPPER_MODES = 3,      /* of one that begins behind the last axis */
    UPPER_COLUMNS = 32,   /* its runs: 128 bytes */
};

/* Where element `e` of a tile lies in shared memory. 4 in 68 places stay empty, and 8 more in 552,
 * so that lanes whose elements are 8, 64 or 512 apart meet different banks. The places of numbers
 * that share no bit add up. */
static __host__ __device__ constexpr int octet_place(int e) {
    return e + e / OCTETS * 4 + e / (EIGHT * OCTETS) * 8;
}

/* A thread has 128 elements: two octets of octets. Registers: forward about 160, backward 255. */
template <int M, int C>
struct octet_shape : tile_shape<EIGHT, M, C, M == MOST_OCTET_MODES ? 32768 : 16384,
                                M == MOST_OCTET_MODES ? 256 : 128> {
    static constexpr int FORWARD_BLOCKS = M == MOST_OCTET_MODES ? 1 : 3;
    static constexpr int BACKWARD_BLOCKS = M == MOST_OCTET_MODES ? 1 : 2;
    static constexpr int ITEMS = octet_shape::ELEMENTS / OCTETS / octet_shape::THREADS;
    static constexpr bool SAVES = M > 3; /* a step between the first and the last */

    static constexpr int shared(bool forward) {
        return octet_place(octet_shape::ELEMENTS) + (forward ? 1 : 2) * M * OCTETS;
    }
};

/* A thread contracts WIDE columns at a time; all of them are its. */
template <int N, int M, int C>
struct square_shape : tile_shape<N, M, C, M == 3 ? 32768 : 8192, M == 3 ? 256 : 128> {
    static constexpr int WIDE = square_shape::ELEMENTS / N / square_shape::THREADS;
    static constexpr int FORWARD_BLOCKS = M == 3 ? 1 : N == 32 ? 3 : 4;
    static constexpr int BACKWARD_BLOCKS = 2;
    static constexpr bool SAVES = false;

    /* Backward: x, dy, all factors transposed, and the first of two. */
    static constexpr int shared(bool forward) {
        constexpr int e = square_shape::ELEMENTS, state = e + e / (EIGHT * 4) * 4;
        constexpr int ahead = M == 3 ? e / 2 : 0; /* v3_cubes.h */
        return forward ? state + ahead + M * N * N : 2 * state + (2 * M - 1) * N * N;
    }
};

/* Calls `with` for the shape of a pass of `modes` of `extent`; some are for forward alone. */
template <bool FORWARD, typename With>
static inline auto with_shape(int64_t extent, int32_t modes, int64_t right, const With &with) {
    if (extent == 16)
        return right > 1 ? with(square_shape<16, 2, UPPER_COLUMNS>())
                         : with(square_shape<16, 2, 1>());
    if constexpr (FORWARD)
        if (extent == 32 && modes == 3)
            return with(square_shape<32, 3, 1>());
    if (extent == 32)
        return right > 1 ? with(square_shape<32, 1, UPPER_COLUMNS>())
                         : with(square_shape<32, 2, 1>());
    if (right > 1)
        return with(octet_shape<UPPER_MODES, UPPER_COLUMNS>());
    return modes == 2   ? with(octet_shape<2, 1>())
           : modes == 3 ? with(octet_shape<3, 1>())
           : modes == 4 ? with(octet_shape<4, 1>())
                        : with(octet_shape<MOST_OCTET_MODES, 1>());
}

/* A pass's cut, in elements: shared memory, and what each block saves in the workspace. */
struct square_cut {
    int64_t tiles, blocks;
    int threads, shared, saved;
};

static inline square_cut square_cut_of(int64_t extent, int32_t modes, int64_t rows, int64_t left,
                                       int64_t right, assay_stage direction) {
    return with_shape<true>(extent, modes, right, [&](auto shape) {
        typedef decltype(shape) S;
        const bool forward = direction == ASSAY_FORWARD;
        const int64_t tiles = tiles_of<S>(rows, left, right);
        const int64_t resident = forward ? S::FORWARD_BLOCKS : S::BACKWARD_BLOCKS;
        return square_cut{tiles, clamp(tiles, 0, ASSAY_MULTIPROCESSORS * resident), S::THREADS,
                          S::shared(forward), S::SAVES ? S::ELEMENTS : 0};
    });
}

static inline square_cut square_cut_of(const pass &p, assay_stage direction) {
    return square_cut_of(p.stages[0].p, p.count, p.rows, p.left, p.right, direction);
}

/* How many modes the pass takes that begins `done` modes into a layer of `modes`; 0 where this plan
 * has no pass. */
static inline int32_t square_modes(int64_t extent, int32_t modes, int32_t done,
                                   assay_stage direction) {
    const int32_t there = modes - done;
    switch (extent) {
    case 8:
        return done > 0                   ? UPPER_MODES
               : there > MOST_OCTET_MODES ? there - UPPER_MODES
               : there > 1                ? there
                                          : 0;
    case 16:
        return modes % 2 == 0 ? 2 : 0;
    case 32:
        return done > 0 ? 1 : modes == 3 && direction == ASSAY_FORWARD ? 3 : modes > 1 ? 2 : 0;
    default:
        return 0;
    }
}

/* False where some factor is another one, or where the tiles would not fill the multiprocessors. */
static inline bool plan_squares(const chain &c, assay_stage direction, size_t element, plan *made) {
    if (element != sizeof(float))
        return false;
    const int64_t extent = c.stages[0].p;
    for (int32_t i = 0; i < c.count; ++i)
        if (c.stages[i].p != extent || c.stages[i].q != extent)
            return false;
    *made = {};
    for (int32_t first = 0; first < c.count; first = made->first[made->count]) {
        const int32_t count = square_modes(extent, c.modes, first % c.modes, direction);
        if (count == 0)
            return false;
        const stage &s = c.stages[first];
        const square_cut cut = square_cut_of(extent, count, c.rows,
                                             c.stages[first + count - 1].left, s.right, direction);
        if (cut.tiles < ASSAY_MULTIPROCESSORS ||
            cut.shared * (int64_t)sizeof(float) > ASSAY_SHARED_BUDGET)
            return false;
        if (first > 0)
            made->width = size_before(s);
        made->first[++made->count] = first + count;
    }
    made->kind = PLAN_SQUARES;
    return true;
}

static inline plan plan_of(const chain &c, assay_stage direction, size_t element) {
    plan made = {};
    return plan_squares(c, direction, element, &made) || plan_eights(c, direction, element, &made)
               ? made
               : plan_tiles(c, direction, element);
}

#endif
