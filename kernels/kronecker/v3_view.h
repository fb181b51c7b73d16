/* Tiles of kronecker v3's passes whose shapes the compiler knows (v3_octets.h, v3_squares.h). */
#ifndef ASSAY_KRONECKER_V3_VIEW_H
#define ASSAY_KRONECKER_V3_VIEW_H

#include "kernels/kronecker/v3_plan.h"

/*
 * A tile has all extents of M modes of N for UNITS consecutive places of (row, left) and COLUMNS
 * consecutive ones of right; COLUMNS is 1 where right is. UNITS divides left, unless left is 1.
 */
template <int N, int M, int C, int E, int T> struct tile_shape {
    static constexpr int power(int m) {
        return m == 0 ? 1 : N * power(m - 1);
    }
    static constexpr int EXTENT = N, MODES = M, COLUMNS = C, ELEMENTS = E, THREADS = T;
    static constexpr int UNIT = power(M); /* elements of a unit in one column */
    static constexpr int UNITS = E / UNIT / C;
};

template <class S> static inline int64_t tiles_of(int64_t rows, int64_t left, int64_t right) {
    return ceil_div(rows * left, S::UNITS) * (right / S::COLUMNS);
}

/* A tile in a state: units `unit` elements apart, of runs that are `run` apart. */
template <typename T> struct tile_view {
    T *data;
    int64_t unit, run;
    int units; /* that there are */
    bool packs;
};

template <class S, typename T>
static __device__ __forceinline__ tile_view<T> view_of(state<T> s, bool packs, const pass &p,
                                                       int64_t tile) {
    const int64_t chunks = S::COLUMNS > 1 ? p.right / S::COLUMNS : 1;
    const int64_t first = tile / chunks * S::UNITS, left = p.rows * p.left - first;
    return {s.data + first / p.left * s.stride + first % p.left * S::UNIT * p.right +
                tile % chunks * S::COLUMNS,
            p.left > 1 ? S::UNIT * p.right : s.stride, p.right,
            left < S::UNITS ? (int)left : S::UNITS, packs};
}

/* Whether the unit of the tile's element `e` is there, and where the element lies in memory. */
template <class S, typename T>
static __device__ __forceinline__ bool is_there(const tile_view<T> &v, int e) {
    return S::UNITS == 1 || e / (S::UNIT * S::COLUMNS) < v.units;
}
template <class S, typename T>
static __device__ __forceinline__ T *element(const tile_view<T> &v, int e) {
    constexpr int SPAN = S::UNIT * S::COLUMNS;
    T *const unit = S::UNITS == 1 ? v.data : v.data + e / SPAN * v.unit;
    return S::COLUMNS == 1 ? unit + e % SPAN
                           : unit + e % SPAN / S::COLUMNS * v.run + e % S::COLUMNS;
}

/* How far apart in memory are elements `R` apart in the tile. */
template <class S, int R, typename T>
static __device__ __forceinline__ int64_t step_of(const tile_view<T> &v) {
    return S::COLUMNS > 1 ? R / S::COLUMNS * v.run : R;
}

#endif
