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
    A scale[TEAM_ROWS], level[TEAM_ROWS], slope[TEAM_ROWS];
};

/* A warp's numbers of the three exchanges, one behind the other. */
static constexpr int TURN_NUMBERS = 4 * TEAM_ROWS;

/* Turns x into x^. Lanes without a column have elements 0, which would count as 0 - mean: `there`
 * is false. */
template <typename A, int V>
static __device__ __forceinline__ void
find_moments(A (&x)[TEAM_ROWS][V], const A (&dy)[TEAM_ROWS][V], const A (&weight)[V], bool there,
             const team_warps<A> &warps, int d, A eps, A *room, team_moments<A> &m) {
    A sum[TEAM_ROWS] = {}, squares[TEAM_ROWS] = {}, slopes[2 * TEAM_ROWS] = {}, mean[TEAM_ROWS];
#pragma unroll
    for (int r = 0; r < TEAM_ROWS; ++r)
        for (int v = 0; v < V; ++v)
            sum[r] += x[r][v];
    spread_rows(sum_team(sum, warps, room) / (A)d, 0, mean);
#pragma unroll
    for (int r = 0; r < TEAM_ROWS; ++r) {
        const A level = there ? mean[r] : (A)0;
        for (int v = 0; v < V; ++v) {
            x[r][v] -= level;
            squares[r] = fma_(x[r][v], x[r][v], squares[r]);
        }
    }
    const A of_row = sum_team(squares, warps, room + TEAM_ROWS * TEAM_PLACES);
    spread_rows(scale_of(of_row, d, eps), 0, m.scale);
#pragma unroll
    for (int r = 0; r < TEAM_ROWS; ++r)
        for (int v = 0; v < V; ++v) {
            const A g = dy[r][v] * weight[v];
            x[r][v] *= m.scale[r];
            slopes[r] += g;
            slopes[TEAM_ROWS + r] = fma_(g, x[r][v], slopes[TEAM_ROWS + r]);
        }
    const A mine = sum_team(slopes, warps, room + 2 * TEAM_ROWS * TEAM_PLACES) / (A)d;
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
    const team_warps<acc_t<T>> warps(cut.lanes);
    const int64_t begin = blockIdx.x * cut.rows_of_turn(), step = gridDim.x * cut.rows_of_turn();
    const int64_t first = begin + at.team * TEAM_ROWS;
    const int there = d - at.column;
    acc_t<T> weight[V];
    widen_pack(load_part<WHOLE, false>(t.w + at.column, there, WHOLE, narrow<T>(0)), weight);
    acc_t<T> *const behind = shared + TURN_NUMBERS * TEAM_PLACES;
    team_feed<T, WHOLE, 2> feed(reinterpret_cast<pack<T> *>(behind));
    team_rows<const T> from_x(t.x, first, step, at.column), from_dy(t.dy, first, step, at.column);
    team_rows<T> to_dx(t.dx, first, step, at.column);
    const auto start = [&](int64_t rows_there) {
        feed.start(0, from_x, rows_there, there);
        feed.start(1, from_dy, rows_there, there);
        from_x.next();
        from_dy.next();
        cp_async_commit();
    };
    acc_t<T> dw[V] = {}, db[V] = {};
    int64_t left = rows - first; /* rows from the team's first of this turn on */
    start(left);
    feed.turn();
    clear_room(shared, TURN_NUMBERS);
    for (int64_t turn = begin; turn < rows; turn += step, left -= step) {
        acc_t<T> x[TEAM_ROWS][V], dy[TEAM_ROWS][V];
        team_moments<acc_t<T>> m;
        start(left - step);
        cp_async_wait<1>();
        feed.load(0, x);
        feed.load(1, dy);
        find_moments(x, dy, weight, there > 0, warps, d, eps, shared, m);
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            acc_t<T> result[V];
            for (int v = 0; v < V; ++v) {
                const acc_t<T> g = dy[r][v] * weight[v];
                result[v] = m.scale[r] * fma_(-x[r][v], m.slope[r], g - m.level[r]);
                dw[v] = fma_(dy[r][v], x[r][v], dw[v]);
                db[v] += dy[r][v];
            }
            store_part<WHOLE>(to_dx.row(r), narrow_pack<T>(result), r < left ? there : 0, WHOLE);
        }
        to_dx.next();
        feed.turn();
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
