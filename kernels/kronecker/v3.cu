/*
 * kronecker v3, fused: a tile of the state goes through as many stages as it can while it is in
 * shared memory (the plan is v3_plan.h, what happens in a tile v3_tile.h, modes too large for any
 * tile v3_large.h). fp32 states that fill the GPU go another way if their extents allow it:
 *
 *     all factors 8 x 8               v3_octets.h: two modes at a time in a thread's registers
 *     all 16 x 16, or all 32 x 32     v3_squares.h: whole columns of a mode in registers;
 *                                     three modes of 32: v3_cubes.h
 *     all extents multiples of eight  v3_eights.h: blocks of a mode's outputs in registers
 *
 * Where two modes of 64 to 128 have too few rows for that, backward goes in strips of a row's
 * lines, all products of a strip in one launch (v3_strips.h).
 *
 * Forward: a row that fits, twice over for the state before and behind a stage, takes all modes of
 * all layers in one pass; otherwise consecutive modes share a pass. Backward: a tile of x or of the
 * state before the pass makes the inputs of the pass's stages again in shared memory; the cotangent
 * then walks back through them, and at each stage dW is summed while both are there. Blocks leave
 * partial dW in the workspace, which a second kernel sums in a fixed order. Only states between two
 * passes are kept in global memory.
 *
 * Against v2: one or a few passes instead of one for each stage. Bytes: the state is read once and
 * written once a pass forward; backward once more for the states between passes, then x, dy and dx
 * once a pass. Flops: as v1.
 *
 * The ladder, H200, cold, us, b = 1024, forward / backward; the row of octets was measured with the
 * prototype of these kernels, the others with `assay bench`
 * (bench/results/2026-11-23-h200-kronecker.md, the last 2026-11-28.md):
 *
 *                                 8^5         8^6            16^4          32^3
 *     floor: memory; 32^3: FFMA   63 / 94     502 / 753      125 / 190     106 / 283
 *     4 x 4 blocks, scalar reads  704 / 4466  5749 / 37278   1433 / 7531   817 / 2840
 *     eights: 8 x 8 blocks        248 / 940                  565 / 1863    307 / 1090
 *     octets; squares             134 / 563   1304 / 4196    338 / 1000    227 / 655
 *     steps' code once; cubes                 1312 / 3988    365 / 1021    205 / 645
 *
 * On an H100, by events around each call, cold (bench/results/2026-11-26-h100.md):
 *
 *                                 8^5         8^6            16^4          32^3
 *     octets; squares             132 / 878     - / 4522     435 / 1140     228 / 683
 *     steps' code once; cubes     132 / 399     - / 4500     440 / 1066     209 / 658
 *
 * Eights read 4 packs for 64 multiply-adds where the other tiles read 8 words for 16; a tile needs
 * one buffer forward, as blocks are written over their input; dW stays in registers from tile to
 * tile, where it was added to memory after each. Octets read a state once for two modes, and need
 * no read for dW; squares read a column once, where a thread of eights reads a share of it for 8 j.
 * With one code for all steps of a kind, backward of 8^5 has 121 KB of instructions instead of 183;
 * cubes fetch half a row ahead.
 */
#include "kernels/kronecker/v3_cubes.h"
#include "kernels/kronecker/v3_eights.h"
#include "kernels/kronecker/v3_octet_gradients.h"
#include "kernels/kronecker/v3_passes.h"
#include "kernels/kronecker/v3_squares.h"
#include "kernels/kronecker/v3_strips.h"

template <typename T> struct pass_steps : tile_steps<T> {
    using tile_steps<T>::call;
    using tile_steps<T>::c;
    using tile_steps<T>::made;
    using tile_steps<T>::partial;
    using tile_steps<T>::stage_of;
    using tile_steps<T>::weights;

    assay_status forward(int32_t step, state<const T> in, state<T> out) {
        const pass p = pass_of(*c, *made, step, ASSAY_FORWARD, sizeof(T));
        if constexpr (sizeof(T) == sizeof(float)) {
            if (made->kind == PLAN_SQUARES)
                return forward_in_squares(p, in, out);
            if (made->kind == PLAN_EIGHTS)
                return forward_in_eights(p, in, out);
        }
        return this->forward_tile(p, in, out);
    }

    assay_status backward(int32_t step, state<const T> in, state<const T> cotangent, state<T> out) {
        const pass p = pass_of(*c, *made, step, ASSAY_BACKWARD, sizeof(T));
        if constexpr (sizeof(T) == sizeof(float)) {
            if (made->kind == PLAN_SQUARES)
                return backward_in_squares(p, in, cotangent, out);
            if (made->kind == PLAN_EIGHTS)
                return backward_in_eights(p, in, cotangent, out);
        }
        return this->backward_tile(p, in, cotangent, out);
    }

    template <class S>
    assay_status launch_forward_squares(const square_cut &cut, const pass &p, state<const T> in,
                                        state<T> out) {
        const dim3 grid((unsigned)cut.blocks), block((unsigned)cut.threads);
        const size_t shared = (size_t)cut.shared * sizeof(T);
        const bool in_packs = takes_packs(in, c->rows), out_packs = takes_packs(out, c->rows);
        if constexpr (S::EXTENT == EIGHT)
            return ASSAY_LAUNCH(call->stream, grid, block, shared, (forward_octets<S>), in,
                                in_packs, weights(p), out, out_packs, p, cut.tiles);
        else if constexpr (S::MODES == 3)
            return ASSAY_LAUNCH(call->stream, grid, block, shared, (forward_cubes<S>), in, in_packs,
                                weights(p), out, out_packs, p, cut.tiles);
        else
            return ASSAY_LAUNCH(call->stream, grid, block, shared, (forward_squares<S>), in,
                                in_packs, weights(p), out, out_packs, p, cut.tiles);
    }

    assay_status forward_in_squares(const pass &p, state<const T> in, state<T> out) {
        const square_cut cut = square_cut_of(p, ASSAY_FORWARD);
        return with_shape<true>(p.stages[0].p, p.count, p.right, [&](auto shape) {
            return launch_forward_squares<decltype(shape)>(cut, p, in, out);
        });
    }

    template <class S>
    assay_status launch_backward_squares(const square_cut &cut, const pass &p, state<const T> in,
                                         state<const T> cotangent, state<T> out, T *sums) {
        const dim3 grid((unsigned)cut.blocks), block((unsigned)cut.threads);
        const size_t shared = (size_t)cut.shared * sizeof(T);
        const bool in_packs = takes_packs(in, c->rows), out_packs = takes_packs(out, c->rows);
        const bool cotangent_packs = takes_packs(cotangent, c->rows);
        if constexpr (S::EXTENT == EIGHT)
            return ASSAY_LAUNCH(call->stream, grid, block, shared, (backward_octets<S>), in,
                                in_packs, weights(p), cotangent, cotangent_packs, out, out_packs,
                                partial, sums, p, cut.tiles);
        else
            return ASSAY_LAUNCH(call->stream, grid, block, shared, (backward_squares<S>), in,
                                in_packs, weights(p), cotangent, cotangent_packs, out, out_packs,
                                sums, p, cut.tiles);
    }

    assay_status backward_in_squares(const pass &p, state<const T> in, state<const T> cotangent,
                                     state<T> out) {
        const square_cut cut = square_cut_of(p, ASSAY_BACKWARD);
        T *const sums = partial + cut.blocks * cut.saved; /* behind what blocks save */
        const assay_status status =
            with_shape<false>(p.stages[0].p, p.count, p.right, [&](auto shape) {
                return launch_backward_squares<decltype(shape)>(cut, p, in, cotangent, out, sums);
            });
        if (status != ASSAY_OK)
            return status;
        gradients<T> dw = {};
        for (int32_t i = 0; i < p.count; ++i)
            dw.of[i] = factor_of<T>(gradient_tensor(call, stage_of(p, i)));
        const int extent = p.stages[0].p;
        return ASSAY_LAUNCH(call->stream,
                            dim3((unsigned)(extent * extent / SUM_EDGE), (unsigned)p.count),
                            dim3(SUM_EDGE, SUM_EDGE), 0, (sum_square_partials), sums, cut.blocks,
                            extent, p.count, dw);
    }

    assay_status forward_in_eights(const pass &p, state<const T> in, state<T> out) {
        const eights e = eights_of(*c, p.first, p.count, ASSAY_FORWARD, sizeof(T));
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)e.blocks), dim3((unsigned)e.threads),
                            (size_t)e.shared * sizeof(T), (forward_eights<T>), in,
                            takes_packs(in, c->rows), weights(p), out, takes_packs(out, c->rows), p,
                            e.t, e.buffer);
    }

    template <int STAGES>
    assay_status launch_backward_eights(const eights &e, const pass &p, state<const T> in,
                                        state<const T> cotangent, state<T> out) {
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)e.blocks), dim3((unsigned)e.threads),
                            (size_t)e.shared * sizeof(T), (backward_eights<T, STAGES>), in,
                            takes_packs(in, c->rows), weights(p), cotangent,
                            takes_packs(cotangent, c->rows), out, takes_packs(out, c->rows),
                            partial, p, e.t, e.buffer);
    }

    assay_status backward_in_eights(const pass &p, state<const T> in, state<const T> cotangent,
                                    state<T> out) {
        const eights e = eights_of(*c, p.first, p.count, ASSAY_BACKWARD, sizeof(T));
        const assay_status status =
            p.count == 1   ? launch_backward_eights<1>(e, p, in, cotangent, out)
            : p.count == 2 ? launch_backward_eights<2>(e, p, in, cotangent, out)
                           : launch_backward_eights<3>(e, p, in, cotangent, out);
        return status == ASSAY_OK ? this->sum_gradients(p, [&](int32_t) { return e.blocks; })
                                  : status;
    }
};

/* Whether a call goes by v3_strips.h. */
static bool is_in_strips(const chain &c, assay_stage direction, size_t element) {
    return direction == ASSAY_BACKWARD && element == sizeof(float) && takes_strips(c);
}

template <typename T> static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    if (is_in_strips(c, direction, sizeof(T)))
        return launch_strips(call, c);
    const plan made = plan_of(c, direction, sizeof(T));
    const walk w = walk_of_passes(c, made);
    T *const partial = static_cast<T *>(call->workspace) + walk_elements(direction, w);
    pass_steps<T> steps = {{call, &c, &made, partial}};
    return direction == ASSAY_FORWARD ? walk_forward<T>(call, w, steps)
                                      : walk_backward<T>(call, w, steps);
}

/* Elements of partial gradients that one pass leaves. */
static int64_t partial_elements(const chain &c, const plan &made, const pass &p, size_t element) {
    if (made.kind == PLAN_SQUARES) {
        const square_cut cut = square_cut_of(p, ASSAY_BACKWARD);
        const int64_t extent = p.stages[0].p;
        return cut.blocks * (cut.saved + p.count * extent * extent);
    }
    if (made.kind == PLAN_EIGHTS) {
        int64_t size = 0;
        for (int32_t i = 0; i < p.count; ++i)
            size += c.stages[p.first + i].p * c.stages[p.first + i].q;
        return size * eights_of(c, p.first, p.count, ASSAY_BACKWARD, element).blocks;
    }
    return tile_partials(c, p, element);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const size_t element = assay_dtype_size(call->params->dtype);
    if (is_in_strips(c, direction, element))
        return (size_t)strip_elements(c) * element;
    const plan made = plan_of(c, direction, element);
    int64_t partial = 0;
    for (int32_t i = 0; i < made.count && direction == ASSAY_BACKWARD; ++i)
        partial = larger(
            partial, partial_elements(c, made, pass_of(c, made, i, direction, element), element));
    return (size_t)(walk_elements(direction, walk_of_passes(c, made)) + partial) * element;
}

static assay_status forward(const assay_call *call) {
    return KRONECKER_DISPATCH(run, ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return KRONECKER_DISPATCH(run, ASSAY_BACKWARD, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    if (call->params->dtype == ASSAY_BF16)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "kronecker/v3: f32 and f64, not bf16; use v3_tensor or v1");
    return ASSAY_OK;
}

static const int32_t tiles[] = {EDGE, WANTED_COLUMNS, WANTED_BYTES / 4, 0};

ASSAY_VARIANT(kronecker, v3) = {
    .op = "kronecker",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: a tile goes through all stages that fit in shared memory",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
