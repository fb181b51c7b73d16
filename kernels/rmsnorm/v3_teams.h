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
    const int64_t begin = blockIdx.x * cut.rows_of_turn(), step = gridDim.x * cut.rows_of_turn();
    const pack<T> weight =
        load_part<WHOLE, false>(t.w + at.column, d - at.column, WHOLE, narrow<T>(0));
    acc_t<T> *room = shared, *other_room = shared + TURN_NUMBERS * TEAM_WARPS;
    acc_t<T> *const behind = shared + 2 * TURN_NUMBERS * TEAM_WARPS;
    const team_feed<T, WHOLE> feed = {reinterpret_cast<pack<T> *>(behind), RESIDUAL ? 3 : 2,
                                      at.column, d, rows};
    const auto start = [&](bool odd, int64_t row) {
        feed.start(odd, 0, t.h, row);
        feed.start(odd, 1, t.dy, row);
        if constexpr (RESIDUAL)
            feed.start(odd, 2, t.dh, row);
        cp_async_commit();
    };
    acc_t<T> dw[V] = {};
    int64_t first = begin + at.team * TEAM_ROWS;
    bool odd = false;
    start(odd, first);
    for (int64_t turn = begin; turn < rows; turn += step, first += step, odd = !odd) {
        pack<T> h[TEAM_ROWS], dy[TEAM_ROWS], dh[TEAM_ROWS];
        acc_t<T> sum[TURN_NUMBERS] = {}, inverse[TEAM_ROWS], slope[TEAM_ROWS];
        start(!odd, first + step);
        cp_async_wait<1>();
        feed.load(odd, 0, h);
        feed.load(odd, 1, dy);
        for (int r = 0; r < TEAM_ROWS; ++r)
            for (int v = 0; v < V; ++v) {
                const acc_t<T> x = widen(h[r].v[v]);
                sum[r] = fma_(x, x, sum[r]);
                sum[TEAM_ROWS + r] =
                    fma_(widen(dy[r].v[v]) * widen(weight.v[v]), x, sum[TEAM_ROWS + r]);
            }
        const acc_t<T> mine = sum_team(sum, cut.lanes, room);
        const acc_t<T> products = __shfl_down_sync(0xffffffffu, mine, TEAM_ROWS);
        const acc_t<T> root = inverse_root(mine, d, eps);
        spread_rows(root, 0, inverse);
        spread_rows(root * (products / (acc_t<T>)d), 0, slope); /* as v1 has it */
        keep_packed(h);
        keep_packed(dy);
        if constexpr (RESIDUAL)
            feed.load(odd, 2, dh);
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            const int left = first + r < rows ? d - at.column : 0;
            acc_t<T> g[V];
            for (int v = 0; v < V; ++v) {
                const acc_t<T> normal = widen(h[r].v[v]) * inverse[r], given = widen(dy[r].v[v]);
                g[v] = fma_(-normal, slope[r], given * widen(weight.v[v])) * inverse[r];
                if constexpr (RESIDUAL)
                    g[v] += widen(dh[r].v[v]);
                dw[v] = fma_(given, normal, dw[v]);
            }
            const pack<T> result = narrow_pack<T>(g);
            store_part<WHOLE>(t.dx.row(first + r) + at.column, result, left, WHOLE);
            if constexpr (RESIDUAL)
                store_part<WHOLE>(t.dr.row(first + r) + at.column, result, left, WHOLE);
        }
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
