/*
 * kronecker v3_bf16x6, ours, for sm_90a alone and f32 alone: modes whose factor has 64 to 128 rows
 * and columns by six products of bf16 digits on tensor cores, as accurate as chains of fp32
 * multiply-adds (docs/numerics.md, which proves it from sums of 64 terms on; kernels/common/
 * bf16_digits.h). Other modes go through v3's tiles, and a call without such a mode is v3's.
 *
 * A column of a state, all its elements in the mode at hand, is a line of digits. A warpgroup has
 * 64 of them in its registers, so that their powers and digits cost no pass over memory: numbers
 * come to shared memory by cp.async, digits are made on the way to wgmma's left operand, and the
 * factor's digits stay in shared memory (digit_contract.h). The last two modes of a layer, 64 x 64
 * each, share a pass (digit_pair.h); where there are few rows, the last two modes of any such
 * extents share a launch (digit_small.h). The gradient of a factor is a sum over all columns, of
 * which 64 at a time are lines with powers of their own (digit_gradient.h). Lines that have no
 * digits, with an Inf, a NaN, or more than 86 binades, go through chains of multiply-adds where
 * they are met; so does the gradient of a mode with fewer than 64 columns, by v3's tiles.
 *
 * Against v3, whose limit is FFMA (60 TFLOP/s): six products at 800 TFLOP/s are 2.2 times as fast.
 * Floors, us, b = 1024 (32 for the last), forward: memory for one pass over the state (of an H200),
 * passes, six products, FFMA. Times on an H100, cold, forward / backward: of v2, which calls
 * cuBLAS; of this kernel when digits of both slices and the copies of the next tile waited for
 * products; and now, when they do not, and the numbers leave shared memory at once. A pass of 128^2
 * then takes 67, not 79. 64^3 for b = 128, an eighth. Since then forward of two modes of 64 does
 * without what keeps the state between them (64^3: 237 before), and the launch of few rows copies
 * factors 16 bytes at a time (15 before).
 *
 *                  a pass   passes   products   FFMA      v2           before       here
 *     64^2              8        1          8     18      47 / 145     25 / 101     25 / 96
 *     128^2            31        2         64    143     242 / 649    158 / 469    135 / 381
 *     64^3            502        2        773   1718     443 / 1355   239 / 824    225 / 747
 *     128^2, b = 32     1        2          2      4      20 / 54      23 / 59      13 / 53
 *
 * Backward of few rows of two modes is v3's, in strips (v3_strips.h): 128^2 for b = 32 takes 33,
 * not 55, on an H200, where four of its six launches took about 10 us each.
 *
 * Backward makes the states between two stages again, a pass each, or two of 64 x 64 in a pass that
 * writes both; so it makes their cotangents. A stage takes a kernel for dW, which reads two states,
 * and one for dx, which reads one and writes one: 2 passes. Products: of forward those of all
 * stages but the last, and twice those of all.
 *
 * Bytes: forward the state in and out once a pass. Flops: 12 a multiply-add on tensor cores.
 */
#include "kernels/common/variants.h"
#include "kernels/kronecker/digit_gradient.h"
#include "kernels/kronecker/digit_pair.h"
#include "kernels/kronecker/digit_small.h"
#include "kernels/kronecker/v3_passes.h"
#include "kernels/kronecker/v3_strips_plan.h"

enum { MOST_K = 2 * SLICE };

/* ---- the plan ---- */

enum digit_pass { BY_TILES, BY_DIGITS, BY_PAIR, BY_SMALL };

struct digit_plan {
    plan passes; /* of v3, in tiles; those below by digits instead */
    digit_pass kind[MAX_STAGES];
    bool some; /* by digits */
};

/* Sums of a stage have p terms, q in backward, and those of dW as many as there are columns. */
static bool takes_digits(const chain &c, const stage &s, assay_stage direction) {
    if (direction == ASSAY_BACKWARD && c.rows * s.left * s.right < FEWEST_K)
        return false;
    return s.p >= FEWEST_K && s.p <= MOST_K && s.q >= FEWEST_K && s.q <= MOST_K &&
           has_digit_axes(s, c.rows);
}

/* Whether stages i and i + 1 make a pass of digit_pair.h. */
static bool takes_pair(const chain &c, int32_t i, assay_stage direction) {
    if (i + 1 >= c.count || c.stages[i].right != 1)
        return false;
    for (int32_t k = i; k < i + 2; ++k)
        if (c.stages[k].p != LINES || c.stages[k].q != LINES ||
            !takes_digits(c, c.stages[k], direction))
            return false;
    return c.stages[i + 1].right == LINES;
}

/* Whether forward makes stages i and i + 1, the last modes of a layer, by digit_small.h. */
static bool takes_small(const chain &c, int32_t i) {
    if (i + 1 >= c.count || c.stages[i].right != 1 || c.stages[i + 1].right != c.stages[i].q)
        return false;
    const stage &s = c.stages[i];
    return takes_digits(c, s, ASSAY_FORWARD) && takes_digits(c, c.stages[i + 1], ASSAY_FORWARD) &&
           ceil_div(c.rows * s.left, LINES) < ASSAY_MULTIPROCESSORS;
}

static digit_plan plan_digits(const chain &c, assay_stage direction) {
    digit_plan made = {};
    if (direction == ASSAY_BACKWARD && takes_strips(c))
        return made; /* v3's */
    plan &passes = made.passes;
    passes.kind = PLAN_TILES;
    for (int32_t first = 0; first < c.count; first = passes.first[passes.count]) {
        if (first > 0)
            passes.width = larger(passes.width, size_behind(c.stages[first - 1]));
        digit_pass &kind = made.kind[passes.count];
        int32_t count = 1;
        kind = takes_digits(c, c.stages[first], direction) ? BY_DIGITS : BY_TILES;
        if (kind == BY_TILES) {
            const int32_t most = longest(c, first, direction, sizeof(float));
            while (count < most && !takes_digits(c, c.stages[first + count], direction))
                ++count;
        } else if (direction == ASSAY_FORWARD && takes_pair(c, first, direction)) {
            kind = BY_PAIR;
            count = 2;
        } else if (direction == ASSAY_FORWARD && takes_small(c, first)) {
            kind = BY_SMALL;
            count = 2;
        }
        made.some = made.some || kind != BY_TILES;
        passes.first[++passes.count] = first + count;
    }
    return made;
}

/* Whether backward makes the cotangents in front of a step and of the one before it by one launch:
 * where the walk does not keep the second one where the cotangent is that comes in. */
static bool makes_two_back(const chain &c, const plan &made, int32_t step) {
    return step >= 1 && (step == 1 || step + 1 == made.count) && step < made.count &&
           takes_pair(c, made.first[step - 1], ASSAY_BACKWARD);
}

/* Elements of the workspace: states between steps, partial gradients of a pass in tiles, and those
 * of all stages by digits. */
struct workspace_plan {
    int64_t states, tiles, digits;
};

static workspace_plan room_of(const chain &c, const digit_plan &made, assay_stage direction) {
    workspace_plan room = {walk_elements(direction, walk_of_passes(c, made.passes)), 0, 0};
    for (int32_t i = 0; i < made.passes.count && direction == ASSAY_BACKWARD; ++i) {
        const stage &s = c.stages[made.passes.first[i]];
        const pass p = pass_of(c, made.passes, i, direction, sizeof(float));
        if (made.kind[i] == BY_TILES)
            room.tiles = larger(room.tiles, tile_partials(c, p, sizeof(float)));
        else
            room.digits += digit_splits(s, c.rows) * s.p * s.q;
    }
    return room;
}

/* ---- steps ---- */

struct digit_steps : tile_steps<float> {
    const digit_plan *digits;
    assay_stage direction;
    float *next; /* of the workspace, for partial gradients by digits */
    partial_gradients sums;
    int32_t count; /* of them */

    /* Adds up the partial gradients that there are. */
    assay_status finish() {
        const int32_t these = count;
        count = 0;
        return launch_sum_gradients(call->stream, sums, these);
    }

    /* Modes of stages i and i + 1 by digit_pair.h, forward, or their cotangents in the other order.
     */
    assay_status pair(int32_t i, bool back, state<const float> in, state<float> between,
                      state<float> out) const {
        const stage &last = c->stages[i], &first = c->stages[i + 1], &s = back ? first : last;
        const factor<const float> w = weight(last), v = weight(first);
        const digit_pair both = {axes_of(last, c->rows),
                                 axes_of(s, c->rows),
                                 digit_state_of(in, s, LINES),
                                 digit_state_of(between, last, LINES),
                                 digit_state_of(out, last, LINES),
                                 {back ? factor<const float>{v.w, v.column, v.row} : w,
                                  back ? factor<const float>{w.w, w.column, w.row} : v}};
        return back           ? launch_pair<false, true>(call->stream, both)
               : between.data ? launch_pair<true, true>(call->stream, both)
                              : launch_pair<true, false>(call->stream, both);
    }

    /* Modes of stages i and i + 1 by digit_small.h. */
    assay_status small(int32_t i, state<const float> in, state<float> out) const {
        const stage &last = c->stages[i], &first = c->stages[i + 1];
        return launch_small(call->stream, {axes_of(last, c->rows),
                                           digit_state_of(in, last, last.p),
                                           {weight(last), weight(first)},
                                           {(int32_t)last.p, (int32_t)first.p},
                                           {(int32_t)last.q, (int32_t)first.q},
                                           out,
                                           (uint32_t)first.left,
                                           digit_state_of(out, last, last.q).pairs});
    }

    /* Whether backward makes the states behind this step and behind the next one by one kernel. */
    bool makes_two(int32_t step) const {
        return step + 2 < made->count && takes_pair(*c, made->first[step], ASSAY_BACKWARD);
    }

    assay_status forward(int32_t step, state<const float> in, state<float> out) {
        const pass p = pass_of(*c, *made, step, ASSAY_FORWARD, sizeof(float));
        const stage &s = stage_of(p, 0);
        if (digits->kind[step] == BY_PAIR)
            return pair(p.first, false, in, {}, out);
        if (digits->kind[step] == BY_SMALL)
            return small(p.first, in, out);
        if (digits->kind[step] == BY_TILES)
            return forward_tile(p, in, out);
        if (direction == ASSAY_BACKWARD && makes_two(step)) {
            const walk w = walk_of_passes(*c, *made);
            return pair(p.first, false, in, out, walk_state<float>(call, w, step + 1));
        }
        if (direction == ASSAY_BACKWARD && step > 0 && makes_two(step - 1))
            return ASSAY_OK;
        return contract_digits(call->stream, {axes_of(s, c->rows), digit_state_of(in, s, s.p),
                                              digit_state_of(out, s, s.q), weight(s)});
    }

    assay_status backward(int32_t step, state<const float> in, state<const float> cotangent,
                          state<float> out) {
        const pass p = pass_of(*c, *made, step, ASSAY_BACKWARD, sizeof(float));
        const stage &s = stage_of(p, 0);
        if (digits->kind[step] == BY_TILES)
            return backward_tile(p, in, cotangent, out);
        const int64_t splits = digit_splits(s, c->rows);
        const digit_state<const float> dy = digit_state_of(cotangent, s, s.q);
        assay_status status = gradient_digits(
            call->stream, {axes_of(s, c->rows), digit_state_of(in, s, s.p), dy, next}, splits);
        sums.of[count++] = {next, splits, s.p, s.q, factor_of<float>(gradient_tensor(call, s))};
        next += splits * s.p * s.q;
        if (status == ASSAY_OK && count == MOST_SUMS)
            status = finish();
        if (status != ASSAY_OK || makes_two_back(*c, *made, step + 1))
            return status;
        if (makes_two_back(*c, *made, step)) {
            const int32_t last = made->count - 1;
            const state<float> before = step == 1
                                            ? state_of<float>(&call->out[0])
                                            : walk_state<float>(call, walk_of_passes(*c, *made),
                                                                last + (last - step + 1) % 2);
            return pair(p.first - 1, true, cotangent, out, before);
        }
        const factor<const float> w = weight(s);
        return contract_digits(
            call->stream,
            {axes_of(s, c->rows), dy, digit_state_of(out, s, s.p), {w.w, w.column, w.row}});
    }
};

static const assay_variant *v3() {
    return variant_of("kronecker", "v3");
}

static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const digit_plan made = plan_digits(c, direction);
    if (!made.some)
        return direction == ASSAY_FORWARD ? v3()->forward(call) : v3()->backward(call);
    const walk w = walk_of_passes(c, made.passes);
    const workspace_plan room = room_of(c, made, direction);
    float *const base = static_cast<float *>(call->workspace);
    digit_steps steps = {{call, &c, &made.passes, base + room.states},
                         &made,
                         direction,
                         base + room.states + room.tiles,
                         {},
                         0};
    if (direction == ASSAY_FORWARD)
        return walk_forward<float>(call, w, steps);
    const assay_status status = walk_backward<float>(call, w, steps);
    return status == ASSAY_OK && steps.count > 0 ? steps.finish() : status;
}

static assay_status forward(const assay_call *call) {
    return run(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return run(ASSAY_BACKWARD, call);
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const digit_plan made = plan_digits(c, direction);
    if (!made.some)
        return v3()->workspace(direction, call);
    const workspace_plan room = room_of(c, made, direction);
    return (size_t)(room.states + room.tiles + room.digits) * sizeof(float);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    if (call->params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "kronecker/v3_bf16x6: f32 alone, not %s; v1 takes all",
                          assay_dtype_name(call->params->dtype));
    return require_hopper("kronecker/v3_bf16x6");
}

static const int32_t tiles[] = {LINES, MOST_K, 0};

ASSAY_VARIANT(kronecker, v3_bf16x6) = {
    .op = "kronecker",
    .name = "v3_bf16x6",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3, factors of 64 to 128 by six products of bf16 digits: wgmma",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
