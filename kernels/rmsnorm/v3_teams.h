/*
 * Backward of rmsnorm v3 for rows of whole packs: teams of lanes take several rows at a time
 * (kernels/common/row_teams.h). A lane's next rows are on their way to shared memory while it works
 * on these; it writes dx and dr when the sums along its rows are known, and adds up dw of its own
 * columns.
 */
#ifndef ASSAY_RMSNORM_V3_TEAMS_H
#define ASSAY_RMSNORM_V3_TEAMS_H

#include "kernels/common/row_teams.h"
#include "kernels/rmsnorm/norm.h"

template <typename T> struct gradients {
    matrix<const T> h, dy, dh;
    const T *w;
    matrix<T> dx, dr;
};

template <typename T> static inline gradients<T> gradients_of(const tensors &t) {
    return {matrix_of<const T>(t.h),      matrix_of<const T>(t.dy), matrix_of<const T>(t.dh),
            matrix_of<const T>(t.w).data, matrix_of<T>(t.dx),       matrix_of<T>(t.dr)};
}

/* A warp's numbers of one exchange; those of the next have another place. */
static constexpr int TURN_NUMBERS = 2 * TEAM_ROWS;

/* WHOLE: packs may be accessed at once. */
template <typename T, bool WHOLE, bool RESIDUAL>
static __global__ void __launch_bounds__(TEAM_THREADS)
    grad_teams(gradients<T> t, acc_t<T> *partial, int64_t rows, int d, acc_t<T> eps,
               team_split cut) {
    constexpr int V = pack<T>::size;
    ASSAY_DYNAMIC_SHARED(acc_t<T>, shared);
    const team_place<T> at(cut.lanes);
    const team_warps<acc_t<T>> warps(cut.lanes);
    const int64_t begin = blockIdx.x * cut.rows_of_turn(), step = gridDim.x * cut.rows_of_turn();
    const int64_t first = begin + at.team * TEAM_ROWS;
    const int there = d - at.column;
    const pack<T> held_weight =
        load_part<WHOLE, false>(t.w + at.column, there, WHOLE, narrow<T>(0));
    acc_t<T> weight[V];
    widen_pack(held_weight, weight);
    acc_t<T> *room = shared, *other_room = shared + TURN_NUMBERS * TEAM_PLACES;
    acc_t<T> *const behind = shared + 2 * TURN_NUMBERS * TEAM_PLACES;
    team_feed<T, WHOLE, RESIDUAL ? 3 : 2> feed(reinterpret_cast<pack<T> *>(behind));
    team_rows<const T> from_h(t.h, first, step, at.column), from_dy(t.dy, first, step, at.column);
    team_rows<const T> from_dh(t.dh, first, step, RESIDUAL ? at.column : 0);
    team_rows<T> to_dx(t.dx, first, step, at.column);
    team_rows<T> to_dr(t.dr, first, step, RESIDUAL ? at.column : 0);
    const auto start = [&](int64_t rows_there) {
        feed.start(0, from_h, rows_there, there);
        feed.start(1, from_dy, rows_there, there);
        from_h.next();
        from_dy.next();
        if constexpr (RESIDUAL) {
            feed.start(2, from_dh, rows_there, there);
            from_dh.next();
        }
        cp_async_commit();
    };
    acc_t<T> dw[V] = {};
    int64_t left = rows - first; /* rows from the team's first of this turn on */
    start(left);
    feed.turn();
    clear_room(shared, 2 * TURN_NUMBERS);
    for (int64_t turn = begin; turn < rows; turn += step, left -= step) {
        acc_t<T> h[TEAM_ROWS][V], dy[TEAM_ROWS][V], dh[TEAM_ROWS][V];
        acc_t<T> sum[TURN_NUMBERS] = {}, inverse[TEAM_ROWS], slope[TEAM_ROWS];
        start(left - step);
        cp_async_wait<1>();
        feed.load(0, h);
        feed.load(1, dy);
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r)
            for (int v = 0; v < V; ++v) {
                sum[r] = fma_(h[r][v], h[r][v], sum[r]);
                sum[TEAM_ROWS + r] = fma_(dy[r][v] * weight[v], h[r][v], sum[TEAM_ROWS + r]);
            }
        const acc_t<T> mean = sum_team(sum, warps, room) / (acc_t<T>)d;
        const acc_t<T> products = __shfl_down_sync(0xffffffffu, mean, TEAM_ROWS);
        const acc_t<T> root = inverse_root_of(mean, eps);
        spread_rows(root, 0, inverse);
        spread_rows(root * products, 0, slope); /* as v1 has it */
        if constexpr (RESIDUAL)
            feed.load(2, dh);
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            acc_t<T> g[V];
            for (int v = 0; v < V; ++v) {
                const acc_t<T> normal = h[r][v] * inverse[r];
                g[v] = fma_(-normal, slope[r], dy[r][v] * weight[v]) * inverse[r];
                if constexpr (RESIDUAL)
                    g[v] += dh[r][v];
                dw[v] = fma_(dy[r][v], normal, dw[v]);
            }
            const pack<T> result = narrow_pack<T>(g);
            store_part<WHOLE>(to_dx.row(r), result, r < left ? there : 0, WHOLE);
            if constexpr (RESIDUAL)
                store_part<WHOLE>(to_dr.row(r), result, r < left ? there : 0, WHOLE);
        }
        to_dx.next();
        to_dr.next();
        feed.turn();
        acc_t<T> *const used = room;
        room = other_room;
        other_room = used;
    }
    cp_async_wait<0>();
    __syncthreads(); /* before the sums take the places of rows */
    sum_teams(dw, at, cut.teams, d, behind, partial + blockIdx.x * (int64_t)d);
}

template <typename T, bool WHOLE, bool RESIDUAL>
static assay_status launch_teams_as(const assay_call *call, const tensors &t) {
    const team_split cut = split_teams<T>(t.rows, t.d);
    return ASSAY_LAUNCH(
        call->stream, dim3((unsigned)cut.blocks), dim3((unsigned)(cut.lanes * cut.teams)),
        team_bytes<T>(cut, t.d, 2 * TURN_NUMBERS, RESIDUAL ? 3 : 2),
        (grad_teams<T, WHOLE, RESIDUAL>), gradients_of<T>(t),
        static_cast<acc_t<T> *>(call->workspace), t.rows, (int)t.d, (acc_t<T>)t.eps, cut);
}

template <typename T>
static assay_status launch_teams(const assay_call *call, const tensors &t, bool packs) {
    if (t.dh != NULL)
        return packs ? launch_teams_as<T, true, true>(call, t)
                     : launch_teams_as<T, false, true>(call, t);
    return packs ? launch_teams_as<T, true, false>(call, t)
                 : launch_teams_as<T, false, false>(call, t);
}

#endif
