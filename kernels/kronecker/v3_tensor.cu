/*
 * kronecker v3_tensor, for bf16 alone and for layers of two to eight factors that are all squares of
 * 8, 16, 32, 64 or 128: v3's passes by tensor cores (mma). A tile of the state, bf16 in shared
 * memory, goes through two to five modes there, so that a call reads and writes the state once or
 * twice where a chain of products does for each mode (tensor_plan.h, tensor_stage.h). States are
 * rounded to bf16 between two stages, as a chain of products stores them, and sums are in fp32.
 *
 * Backward makes the states of a pass again in a tile, then walks back with the cotangent in a
 * second one; dW stays in registers (tensor_gradient.h).
 */
#include "kernels/kronecker/tensor_gradient.h"

struct tensor_room {
    int64_t states, saved, partial; /* bytes of the workspace */
};

static size_t tile_bytes(int extent, const tensor_pass &p) {
    const size_t bytes =
        sizeof(bf16) << (log2_of(extent) * p.modes + p.log_columns + p.log_units);
    return bytes;
}

static size_t factor_bytes(int extent) {
    return (size_t)extent * (size_t)(extent + PIECE) * sizeof(bf16);
}

static size_t forward_bytes(int extent, const tensor_pass &p) {
    return tile_bytes(extent, p) + (size_t)p.modes * factor_bytes(extent);
}

static size_t backward_bytes(int extent, const tensor_pass &p) {
    const size_t sums = (size_t)extent * (size_t)extent * sizeof(float) *
                        (extent == 128 ? 1 : extent == 64 ? 2 : BACK_WARPS);
    const size_t all =
        2 * tile_bytes(extent, p) + (size_t)(2 * p.modes - 1) * factor_bytes(extent);
    return all > sums ? all : sums;
}

/* As many as a multiprocessor has room for, if their registers allow it. */
static int64_t blocks_of(const tensor_pass &p, size_t shared, int64_t most) {
    const int64_t together = clamp(ASSAY_MAX_SHARED / ((int64_t)shared + 1024), 1, most);
    return clamp(p.tiles, 0, ASSAY_MULTIPROCESSORS * together);
}

static int64_t forward_blocks(int extent, const tensor_pass &p) {
    return blocks_of(p, forward_bytes(extent, p), extent == 16 ? 2 : 4);
}

static int64_t backward_blocks(int extent, const tensor_pass &p) {
    return blocks_of(p, backward_bytes(extent, p), extent == 128 || extent == 32 ? 1 : 2);
}

static int64_t whole_lines(int64_t bytes) {
    return ceil_div(bytes, 128) * 128;
}

static tensor_room room_of(const chain &c, const tensor_plan &made, assay_stage direction) {
    tensor_room room = {
        whole_lines(walk_elements(direction, walk_of_tensor(c, made)) * (int64_t)sizeof(bf16)), 0,
        0};
    for (int32_t i = 0; i < made.count && direction == ASSAY_BACKWARD; ++i) {
        const tensor_pass &p = made.pass[i];
        const int64_t blocks = backward_blocks(made.extent, p);
        room.saved = larger(room.saved, blocks * larger(p.modes - 2, 0) *
                                            (int64_t)tile_bytes(made.extent, p));
        room.partial = larger(room.partial, blocks * p.modes * made.extent * made.extent *
                                                (int64_t)sizeof(float));
    }
    return room;
}

/* Whether packs may be read from and written to every row. */
template <typename T> static bool takes_packs(const state<T> &s, int64_t rows) {
    return (uintptr_t)s.data % PACK_BYTES == 0 &&
           (rows <= 1 || s.stride * (int64_t)sizeof(T) % PACK_BYTES == 0);
}

/* launch(extent) with an integral_constant. */
template <typename Launch> static assay_status with_extent(int extent, Launch launch) {
    switch (extent) {
    case 8:
        return launch(std::integral_constant<int, 8>());
    case 16:
        return launch(std::integral_constant<int, 16>());
    case 32:
        return launch(std::integral_constant<int, 32>());
    case 64:
        return launch(std::integral_constant<int, 64>());
    default:
        return launch(std::integral_constant<int, 128>());
    }
}

struct tensor_steps {
    const assay_call *call;
    const chain *c;
    const tensor_plan *made;
    unsigned char *saved;
    float *partial;

    tensor_factors weights(const tensor_pass &p) const {
        tensor_factors w = {};
        for (int32_t i = 0; i < p.modes; ++i)
            w.of[i] = factor_of<const bf16>(factor_tensor(call, c->stages[p.first + i]));
        return w;
    }

    assay_status forward(int32_t step, state<const bf16> in, state<bf16> out) const {
        const tensor_pass &p = made->pass[step];
        const int extent = made->extent;
        return with_extent(extent, [&](auto n) {
            constexpr int N = decltype(n)::value;
            return ASSAY_LAUNCH(call->stream, whole_grid(forward_blocks(extent, p)),
                                dim3(tensor_threads(N)), forward_bytes(extent, p),
                                (forward_tensor<N>), in.data, in.stride, takes_packs(in, c->rows),
                                weights(p), out.data, out.stride, takes_packs(out, c->rows), p);
        });
    }

    template <int N, int M>
    assay_status launch_backward(const tensor_pass &p, const tensor_back &back) const {
        if constexpr (M > most_modes(N, true)) {
            (void)p;
            (void)back;
            return ASSAY_OK;
        } else {
            return ASSAY_LAUNCH(call->stream, whole_grid(backward_blocks(N, p)),
                                dim3(BACK_THREADS), backward_bytes(N, p), (backward_tensor<N, M>),
                                back, weights(p), p, (int)tile_bytes(N, p));
        }
    }

    assay_status backward(int32_t step, state<const bf16> in, state<const bf16> cotangent,
                          state<bf16> out) const {
        const tensor_pass &p = made->pass[step];
        const tensor_back back = {in.data,
                                  cotangent.data,
                                  out.data,
                                  in.stride,
                                  cotangent.stride,
                                  out.stride,
                                  takes_packs(in, c->rows),
                                  takes_packs(cotangent, c->rows),
                                  takes_packs(out, c->rows),
                                  saved,
                                  partial};
        const assay_status status = with_extent(made->extent, [&](auto n) {
            constexpr int N = decltype(n)::value;
            switch (p.modes) {
            case 1:
                return launch_backward<N, 1>(p, back);
            case 2:
                return launch_backward<N, 2>(p, back);
            case 3:
                return launch_backward<N, 3>(p, back);
            case 4:
                return launch_backward<N, 4>(p, back);
            default:
                return launch_backward<N, 5>(p, back);
            }
        });
        if (status != ASSAY_OK)
            return status;
        tensor_gradients all = {partial, backward_blocks(made->extent, p), {}};
        for (int32_t i = 0; i < p.modes; ++i)
            all.dw[i] = factor_of<bf16>(gradient_tensor(call, c->stages[p.first + i]));
        dim3 grid = linear_grid((int64_t)made->extent * made->extent, PARTIALS_WIDTH);
        grid.y = (unsigned)p.modes;
        return ASSAY_LAUNCH(call->stream, grid, dim3(PARTIALS_WIDTH, PARTIALS_LANES), 0,
                            sum_tensor_gradients, all, made->extent);
    }
};

static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const tensor_plan made = plan_tensor(c, direction);
    const tensor_room room = room_of(c, made, direction);
    unsigned char *const base = static_cast<unsigned char *>(call->workspace);
    tensor_steps steps = {call, &c, &made, base + room.states,
                          reinterpret_cast<float *>(base + room.states + room.saved)};
    const walk w = walk_of_tensor(c, made);
    return direction == ASSAY_FORWARD ? walk_forward<bf16>(call, w, steps)
                                      : walk_backward<bf16>(call, w, steps);
}

static assay_status forward(const assay_call *call) {
    return run(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return run(ASSAY_BACKWARD, call);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const tensor_room room = room_of(c, plan_tensor(c, direction), direction);
    return (size_t)(room.states + room.saved + room.partial);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    if (call->params->dtype != ASSAY_BF16)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "kronecker/v3_tensor: bf16 alone, not %s; use v3",
                          assay_dtype_name(call->params->dtype));
    if (!takes_tensor(chain_of(call)))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "kronecker/v3_tensor: two factors and more, all of them squares of 8, 16, "
                          "32, 64 or 128; v1 takes all");
    return ASSAY_OK;
}

static const int32_t tiles[] = {ITEM * 8, WANTED_RUN, 16384, 0};

ASSAY_VARIANT(kronecker, v3_tensor) = {
    .op = "kronecker",
    .name = "v3_tensor",
    .device = ASSAY_DEVICE_NAME,
    .summary = "bf16: a tile goes through all modes that fit, by mma",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
