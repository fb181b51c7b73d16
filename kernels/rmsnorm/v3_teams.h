/*
 * Backward of rmsnorm v3 for rows of whole packs: teams of lanes take several rows at a time
 * (kernels/common/row_teams.h). A lane reads h and dy once, the next rows' before it works on
 * these, writes dx and dr when the sums along its rows are known, and adds up dw of its own
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
    const int64_t begin = blockIdx.x * cut.rows_per_block, step = cut.teams * TEAM_ROWS;
    const int64_t end = begin + cut.rows_per_block < rows ? begin + cut.rows_per_block : rows;
    const auto load = [&](const matrix<const T> &from, int64_t row) {
        return load_part<WHOLE, true>(from.row(row) + at.column, row < end ? d - at.column : 0,
                                      WHOLE, narrow<T>(0));
    };
    const pack<T> weight =
        load_part<WHOLE, false>(t.w + at.column, d - at.column, WHOLE, narrow<T>(0));
    pack<T> next_h[TEAM_ROWS], next_dy[TEAM_ROWS];
    acc_t<T> dw[V] = {};
    acc_t<T> *room = shared, *other_room = shared + TURN_NUMBERS * TEAM_WARPS;
    int64_t first = begin + at.team * TEAM_ROWS;
#pragma unroll
    for (int r = 0; r < TEAM_ROWS; ++r) {
        next_h[r] = load(t.h, first + r);
        next_dy[r] = load(t.dy, first + r);
    }
    for (int64_t turn = begin; turn < end; turn += step, first += step) {
        pack<T> h[TEAM_ROWS], dy[TEAM_ROWS], dh[TEAM_ROWS];
        acc_t<T> sum[TURN_NUMBERS] = {}, inverse[TEAM_ROWS], slope[TEAM_ROWS];
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            h[r] = next_h[r];
            dy[r] = next_dy[r];
            next_h[r] = load(t.h, first + step + r);
            next_dy[r] = load(t.dy, first + step + r);
            if constexpr (RESIDUAL)
                dh[r] = load(t.dh, first + r);
        }
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
#pragma unroll
        for (int r = 0; r < TEAM_ROWS; ++r) {
            const int left = first + r < end ? d - at.column : 0;
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
    sum_teams(dw, at, cut.teams, d, shared + 2 * TURN_NUMBERS * TEAM_WARPS,
              partial + blockIdx.x * (int64_t)d);
}

template <typename T, bool WHOLE, bool RESIDUAL>
static assay_status launch_teams_as(const assay_call *call, const tensors &t) {
    const team_split cut = split_teams<T>(t.rows, t.d);
    return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.blocks),
                        dim3((unsigned)(cut.lanes * cut.teams)),
                        team_bytes<T>(cut, t.d, 2 * TURN_NUMBERS), (grad_teams<T, WHOLE, RESIDUAL>),
                        gradients_of<T>(t), static_cast<acc_t<T> *>(call->workspace), t.rows,
                        (int)t.d, (acc_t<T>)t.eps, cut);
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
