/*
 * kronecker v3_tensor, for bf16 and for math=tf32, and for layers of two to eight factors that are
 * all squares of 32 or 64, in bf16 also of 8, 16 or 128: v3's passes by tensor cores (mma). A tile
 * of the state in shared memory goes through up to five modes there, so that a call reads and
 * writes the state once or twice, where a chain of products does for each mode (tensor_plan.h,
 * tensor_stage.h). States of bf16 are rounded between two stages, as a chain of products stores
 * them; sums are in fp32.
 *
 * Backward makes the states of a pass again in a tile, then walks back with the cotangent in a
 * second one; dW stays in registers (tensor_gradient.h).
 *
 * Times on an H200, cold, us, b = 1024 (32 where it says so), forward / backward, beside PyTorch's
 * chain of products (the better of eager and compiled; bench/results/2026-11-27-h200.md). Floor:
 * memory, one pass over the state, two backward for reading x and dy and writing dx. "Places":
 * before those in a tile were exclusive ors of what a lane and a loop know, the kernels spent most
 * instructions on them.
 *
 *                     floor       places      here          PyTorch
 *     bf16 64^2       4 / 6       19 / 43     17 / 36       21 / 50
 *          128^2      16 / 23                 56 / 133      46 / 135
 *          32^3       31 / 47                 71 / 201      228 / 468
 *          16^4       62 / 94                 157 / 610     1901 / 1920
 *          8^5        31 / 47                 109 / 386     3702 / 2471
 *          64^3       250 / 374               818 / 2548    832 / 3963
 *          128^2, 32                          15 / 33       11 / 36
 *     TF32 64^2       8 / 12                  40 / 63       32 / 92
 *          32^3       62 / 94                 192 / 597     526 / 1195
 *
 * In TF32 the columns of a state that is not the last axis are read word by word, where bf16 has
 * ldmatrix: 128^2 took 322 / 486, more than v3_bf16x6's 133 / 380, and has no kernel here.
 *
 * Bytes: the state in and out once a pass. Flops: as v1.
 */
#include "kernels/kronecker/tensor_gradient.h"

struct tensor_room {
    int64_t states, saved, partial; /* bytes of the workspace */
};

template <typename T> static size_t tile_bytes(int extent, const tensor_pass &p) {
    return sizeof(T) << (log2_of(extent) * p.modes + p.log_columns + p.log_units);
}

template <typename T> static size_t factor_bytes(int extent) {
    return sizeof(T) * (size_t)(extent * (extent + FACTOR_PAD));
}

template <typename T> static size_t forward_bytes(int extent, const tensor_pass &p) {
    return tile_bytes<T>(extent, p) + (size_t)p.modes * factor_bytes<T>(extent);
}

template <typename T> static size_t backward_bytes(int extent, const tensor_pass &p) {
    const size_t sums = sizeof(float) * (size_t)(gradient_splits(extent) * extent * extent);
    const size_t all = 2 * tile_bytes<T>(extent, p) + (size_t)p.modes * factor_bytes<T>(extent);
    return all > sums ? all : sums;
}

/* As many as multiprocessors have room for, if registers allow `most` of them on each. */
static int64_t blocks_of(const tensor_pass &p, size_t shared, int64_t most) {
    const int64_t own = 1024; /* that a block takes besides */
    const int64_t together = clamp(ASSAY_MAX_SHARED / ((int64_t)shared + own), 1, most);
    return clamp(p.tiles, 0, ASSAY_MULTIPROCESSORS * together);
}

template <typename T> static int64_t forward_blocks(int extent, const tensor_pass &p) {
    return blocks_of(p, forward_bytes<T>(extent, p), tensor_blocks<T>(extent));
}

template <typename T> static int64_t backward_blocks(int extent, const tensor_pass &p) {
    return blocks_of(p, backward_bytes<T>(extent, p), extent <= 16 || extent == 64 ? 2 : 1);
}

static int64_t whole_lines(int64_t bytes) {
    return ceil_div(bytes, 128) * 128;
}

template <typename T>
static tensor_room room_of(const chain &c, const tensor_plan &made, assay_stage direction) {
    tensor_room room = {
        whole_lines(walk_elements(direction, walk_of_tensor(c, made)) * (int64_t)sizeof(T)), 0, 0};
    for (int32_t i = 0; i < made.count && direction == ASSAY_BACKWARD; ++i) {
        const tensor_pass &p = made.pass[i];
        const int64_t blocks = backward_blocks<T>(made.extent, p);
        room.saved = larger(room.saved, blocks * larger(p.modes - 2, 0) *
                                            (int64_t)tile_bytes<T>(made.extent, p));
        room.partial = larger(room.partial, blocks * p.modes * made.extent * made.extent *
                                                (int64_t)sizeof(float));
    }
    return room;
}

/* Whether packs may be read from and written to every row. */
template <typename T> static bool rows_take_packs(const state<T> &s, int64_t rows) {
    return (uintptr_t)s.data % PACK_BYTES == 0 &&
           (rows <= 1 || s.stride * (int64_t)sizeof(T) % PACK_BYTES == 0);
}

/* launch(extent) with an integral_constant. */
template <typename T, typename Launch>
static assay_status with_extent(int extent, const Launch &launch) {
    if constexpr (least_extent<T>() == 8) {
        if (extent == 8)
            return launch(std::integral_constant<int, 8>());
        if (extent == 16)
            return launch(std::integral_constant<int, 16>());
    }
    if (extent == 32)
        return launch(std::integral_constant<int, 32>());
    if constexpr (most_extent<T>() == 128)
        if (extent == 128)
            return launch(std::integral_constant<int, 128>());
    return launch(std::integral_constant<int, 64>());
}

template <typename T> struct tensor_steps {
    const assay_call *call;
    const chain *c;
    const tensor_plan *made;
    unsigned char *saved;
    float *partial;

    tensor_factors<T> weights(const tensor_pass &p) const {
        tensor_factors<T> w = {};
        for (int32_t i = 0; i < p.modes; ++i)
            w.of[i] = factor_of<const T>(factor_tensor(call, c->stages[p.first + i]));
        return w;
    }

    assay_status forward(int32_t step, state<const T> in, state<T> out) const {
        const tensor_pass &p = made->pass[step];
        const tensor_states<T> states = {in.data,
                                         out.data,
                                         in.stride,
                                         out.stride,
                                         rows_take_packs(in, c->rows),
                                         rows_take_packs(out, c->rows)};
        return with_extent<T>(made->extent, [&](auto n) {
            constexpr int N = decltype(n)::value;
            return ASSAY_LAUNCH(call->stream, whole_grid(forward_blocks<T>(N, p)),
                                dim3(tensor_threads<T>(N)), forward_bytes<T>(N, p),
                                (forward_tensor<T, N>), states, weights(p), p);
        });
    }

    template <int N, int M = most_modes<T>(N, true)>
    assay_status launch_backward(const tensor_pass &p, const tensor_back<T> &back) const {
        if constexpr (M > 1)
            if (p.modes < M)
                return launch_backward<N, M - 1>(p, back);
        return ASSAY_LAUNCH(call->stream, whole_grid(backward_blocks<T>(N, p)),
                            dim3(back_threads(N)), backward_bytes<T>(N, p),
                            (backward_tensor<T, N, M>), back, weights(p), p,
                            (int)tile_bytes<T>(N, p));
    }

    assay_status backward(int32_t step, state<const T> in, state<const T> cotangent,
                          state<T> out) const {
        const tensor_pass &p = made->pass[step];
        const tensor_back<T> back = {in.data,
                                     cotangent.data,
                                     out.data,
                                     in.stride,
                                     cotangent.stride,
                                     out.stride,
                                     rows_take_packs(in, c->rows),
                                     rows_take_packs(cotangent, c->rows),
                                     rows_take_packs(out, c->rows),
                                     saved,
                                     partial};
        const assay_status status = with_extent<T>(
            made->extent, [&](auto n) { return launch_backward<decltype(n)::value>(p, back); });
        if (status != ASSAY_OK)
            return status;
        tensor_gradients<T> all = {partial, backward_blocks<T>(made->extent, p), {}};
        for (int32_t i = 0; i < p.modes; ++i)
            all.dw[i] = factor_of<T>(gradient_tensor(call, c->stages[p.first + i]));
        dim3 grid = linear_grid((int64_t)made->extent * made->extent, PARTIALS_WIDTH);
        grid.y = (unsigned)p.modes;
        return ASSAY_LAUNCH(call->stream, grid, dim3(PARTIALS_WIDTH, PARTIALS_LANES), 0,
                            (sum_tensor_gradients<T>), all, made->extent);
    }
};

template <typename T> static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const tensor_plan made = plan_tensor<T>(c, direction);
    const tensor_room room = room_of<T>(c, made, direction);
    unsigned char *const base = static_cast<unsigned char *>(call->workspace);
    tensor_steps<T> steps = {call, &c, &made, base + room.states,
                             reinterpret_cast<float *>(base + room.states + room.saved)};
    const walk w = walk_of_tensor(c, made);
    return direction == ASSAY_FORWARD ? walk_forward<T>(call, w, steps)
                                      : walk_backward<T>(call, w, steps);
}

static assay_status dispatch(assay_stage direction, const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? run<bf16>(direction, call)
                                             : run<float>(direction, call);
}

static assay_status forward(const assay_call *call) {
    return dispatch(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return dispatch(ASSAY_BACKWARD, call);
}

template <typename T> static size_t workspace_of(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const tensor_room room = room_of<T>(c, plan_tensor<T>(c, direction), direction);
    return (size_t)(room.states + room.saved + room.partial);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    return call->params->dtype == ASSAY_BF16 ? workspace_of<bf16>(direction, call)
                                             : workspace_of<float>(direction, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    const bool is_bf16 = call->params->dtype == ASSAY_BF16;
    if (!is_bf16 && call->params->math != ASSAY_TF32)
        return assay_fail(
            ASSAY_ERR_UNSUPPORTED,
            "kronecker/v3_tensor: bf16, and f32 with math=tf32, not strict %s; use v3",
            assay_dtype_name(call->params->dtype));
    const chain c = chain_of(call);
    if (!(is_bf16 ? takes_tensor<bf16>(c) : takes_tensor<float>(c)))
        return assay_fail(
            ASSAY_ERR_UNSUPPORTED,
            "kronecker/v3_tensor: two factors and more, all squares of 32 or 64, in bf16 "
            "also of 8, 16 or 128; v1 takes all");
    return ASSAY_OK;
}

static const int32_t tiles[] = {BLOCK_COLUMNS, WANTED_RUN, 16384, 0};

ASSAY_VARIANT(kronecker, v3_tensor) = {
    .op = "kronecker",
    .name = "v3_tensor",
    .device = ASSAY_DEVICE_NAME,
    .summary = "bf16 and TF32: a tile goes through all modes that fit, by mma",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
