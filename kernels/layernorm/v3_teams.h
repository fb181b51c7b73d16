/*
 * Backward of layernorm v3 for rows of whole packs: teams of lanes take several rows at a time
 * (kernels/common/row_teams.h). A lane's next rows are on their way to shared memory while it works
 * on these; it writes dx when the sums along its rows are known, and adds up dw and db of its own
 * columns. A team's first exchange is for the means, its second for the squares about them, its
 * third for g and g x^.
 */
#ifndef ASSAY_LAYERNORM_V3_TEAMS_H
#define ASSAY_LAYERNORM_V3_TEAMS_H

#include "kernels/common/row_teams.h"
#include "kernels/layernorm/norm.h"

template <typename T> struct gradients {
    matrix<const T> x, dy;
    const T *w;
    matrix<T> dx;
};

template <typename T> static inline gradients<T> gradients_of(const tensors &t) {
    return {matrix_of<const T>(t.x), matrix_of<const T>(t.dy), matrix_of<const T>(t.w).data,
            matrix_of<T>(t.dx)};
}

/* What the lanes of a team know of their rows. */
template <typename A> struct team_moments {
    A mean[TEAM_ROWS], scale[TEAM_ROWS], level[TEAM_ROWS], slope[TEAM_ROWS];
};

/* A warp's numbers of the three exchanges, one behind the other. */
static constexpr int TURN_NUMBERS = 4 * TEAM_ROWS;

/* Lanes without a column have elements 0, which would count as 0 - mean: `there` is false. */
template <typename T>
static __device__ __forceinline__ void
find_moments(pack<T> (&x)[TEAM_ROWS], pack<T> (&dy)[TEAM_ROWS], const pack<T> &weight, bool there,
             int lanes, int d, acc_t<T> eps, acc_t<T> *room, team_moments<acc_t<T>> &m) {
    typedef acc_t<T> A;
    constexpr int V = pack<T>::size;
    A sum[TEAM_ROWS] = {}, squares[TEAM_ROWS] = {}, slopes[2 * TEAM_ROWS] = {};
    for (int r = 0; r < TEAM_ROWS; ++r)
        for (int v = 0; v < V; ++v)
            sum[r] += widen(x[r].v[v]);
    spread_rows(sum_team(sum, lanes, room) / (A)d, 0, m.mean);
    keep_packed(x);
    for (int r = 0; r < TEAM_ROWS; ++r)
        for (int v = 0; v < V; ++v) {
            const A centred = there ? widen(x[r].v[v]) - m.mean[r] : (A)0;
            squares[r] = fma_(centred, centred, squares[r]);
        }
    const A of_row = sum_team(squares, lanes, room + TEAM_ROWS * TEAM_WARPS);
    spread_rows(scale_of(of_row, d, eps), 0, m.scale);
    keep_packed(x);
    keep_packed(dy);
    for (int r = 0; r < TEAM_ROWS; ++r)
        for (int v = 0; v < V; ++v) {
            const A g = widen(dy[r].v[v]) * widen(weight.v[v]);
            const A unit = (widen(x[r].v[v]) - m.mean[r]) * m.scale[r];
            slopes[r] += g;
            slopes[TEAM_ROWS + r] = fma_(g, unit, slopes[TEAM_ROWS + r]);
        }
    const A mine = sum_team(slopes, lanes, room + 2 * TEAM_ROWS * TEAM_WARPS) / (A)d;
    spread_rows(mine, 0, m.level);
    spread_rows(mine, TEAM_ROWS, m.slope);
}

/* WHOLE: packs may be accessed at once. */
template <typename T, bool WHOLE>
static __global__ void __launch_bounds__(TEAM_THREADS)
    grad_teams(gradients<T> t, acc_t<T> *partial_w, acc_t<T> *partial_b, int64_t rows, int d,
               acc_t<T> eps, team_split cut) {
    constexpr int V = pack<T>::size;
    ASSAY_DYNAMIC_SHARED(acc_t<T>, shared);
    const team_place<T> at(cut.lanes);
    const int64_t begin = blockIdx.x * cut.rows_of_turn(), step = gridDim.x * cut.rows_of_turn();
    const pack<T> weight =
        load_part<WHOLE, false>(t.w + at.column, d - at.column, WHOLE, narrow<T>(0));
    acc_t<T> *const behind = shared + TURN_NUMBERS * TEAM_WARPS;
    const team_feed<T, WHOLE> feed = {reinterpret_cast<pack<T> *>(behind), 2, at.column, d, rows};
    const auto start = [&](bool odd, int64_t row) {
        feed.start(odd, 0, t.x, row);
        feed.start(odd, 1, t.dy, row);
        cp_async_commit();
    };
    acc_t<T> dw[V] = {}, db[V] = {};
    int64_t first = begin + at.team * TEAM_ROWS;
    bool odd = false;
    start(odd, first);
    for (int64_t turn = begin; turn < rows; turn += step, first += step, odd = !odd) {
        pack<T> x[TEAM_ROWS], dy[TEAM_ROWS];
        team_moments<acc_t<T>> m;
        start(!odd, first + step);
        cp_async_wait<1>();
        feed.load(odd, 0, x);
        feed.load(odd, 1, dy);
        find_moments(x, dy, weight, at.column < d, cut.lanes, d, eps, shared, m);
        keep_packed(x);
        keep_packed(dy);
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            acc_t<T> result[V];
            for (int v = 0; v < V; ++v) {
                const acc_t<T> unit = (widen(x[r].v[v]) - m.mean[r]) * m.scale[r],
                               given = widen(dy[r].v[v]);
                const acc_t<T> g = given * widen(weight.v[v]);
                result[v] = m.scale[r] * fma_(-unit, m.slope[r], g - m.level[r]);
                dw[v] = fma_(given, unit, dw[v]);
                db[v] += given;
            }
            store_part<WHOLE>(t.dx.row(first + r) + at.column, narrow_pack<T>(result),
                              first + r < rows ? d - at.column : 0, WHOLE);
        }
    }
    cp_async_wait<0>();
    __syncthreads(); /* before the sums take the places of rows */
    sum_teams(dw, at, cut.teams, d, behind, partial_w + blockIdx.x * (int64_t)d);
    sum_teams(db, at, cut.teams, d, behind, partial_b + blockIdx.x * (int64_t)d);
}

template <typename T>
static assay_status launch_teams(const assay_call *call, const tensors &t, acc_t<T> *of_w,
                                 acc_t<T> *of_b, bool packs) {
    const team_split cut = split_teams<T>(t.rows, t.d);
    return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.blocks),
                        dim3((unsigned)(cut.lanes * cut.teams)),
                        team_bytes<T>(cut, t.d, TURN_NUMBERS, 2),
                        (packs ? grad_teams<T, true> : grad_teams<T, false>), gradients_of<T>(t),
                        of_w, of_b, t.rows, (int)t.d, (acc_t<T>)t.eps, cut);
}

#endif
