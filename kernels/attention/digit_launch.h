/*
 * How attention's products of bf16 digits are launched. `Plans` has
 *
 *     Digits                            how numbers are taken apart
 *     FEWEST_SCORES                     for each multiprocessor; with fewer, v3 is faster
 *     narrow, narrow_keys, narrow_queries
 *                                       what blocks do where d is 33 to 64,
 *     middle, middle_keys, middle_queries
 *                                       and where it is 65 to 128
 */
#ifndef ASSAY_ATTENTION_DIGIT_LAUNCH_H
#define ASSAY_ATTENTION_DIGIT_LAUNCH_H

#include "kernels/attention/digit_forward.h"
#include "kernels/attention/digit_keys.h"
#include "kernels/attention/digit_queries.h"
#include "kernels/attention/v3_launch.h"

/* A box's coordinates fit 32 bits in the last tile, too. */
static constexpr int64_t MOST_EXTENT = INT32_MAX - 1024;

/* Whether digits are worth their while, and copies take them. */
template <typename Plans> static bool takes_digits(const sizes &n) {
    return n.d > 32 && n.d <= 128 && n.heads > 0 && n.sq <= MOST_EXTENT && n.sk <= MOST_EXTENT &&
           n.heads <= MOST_EXTENT / Plans::Digits::N &&
           (double)n.heads * (double)n.sq * (double)n.sk >
               (double)Plans::FEWEST_SCORES * ASSAY_MULTIPROCESSORS;
}

static const head_marks *marks_at(const assay_call *call, const digit_space &space) {
    return reinterpret_cast<const head_marks *>(static_cast<char *>(call->workspace) + space.marks);
}

/* As many blocks as run at a time, or one for each tile. */
template <typename Plan> static dim3 resident_grid(int64_t tiles) {
    return whole_grid(clamp(tiles, 0, Plan::BLOCKS * ASSAY_MULTIPROCESSORS));
}

/* ---- forward ---- */

template <typename Plan> static digit_space forward_space_of(const sizes &n) {
    return digit_space_of<typename Plan::Digits, Plan::D>(n, SPLIT_SIDES - 1, 0);
}

template <typename Plan> static assay_status forward_on_digits(const assay_call *call) {
    typedef typename plans<fma_core, Plan::D>::forward tiles;
    typedef typename Plan::Digits Digits;
    constexpr int D = Plan::D, SIDES = SPLIT_SIDES - 1;
    const forward_problem<float> v3 = forward_problem_of<float>(call);
    const sizes &n = v3.n;
    const digit_space space = forward_space_of<Plan>(n);
    const head_marks *const marks = marks_at(call, space);
    digit_maps maps = {};
    assay_status status = map_digits<D>(call, space.side[0], planes_of<Digits>(0, SIDES), n.heads,
                                        n.sq, GROUP_ROWS, &maps.q);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[1], planes_of<Digits>(1, SIDES), n.heads, n.sk,
                               Plan::KEYS, &maps.k);
    if (status == ASSAY_OK)
        status = map_digits<D>(call, space.side[2], planes_of<Digits>(2, SIDES), n.heads, n.sk,
                               Plan::KEYS, &maps.v);
    if (status == ASSAY_OK)
        status = split_all<Digits, D>(call, tensors_of(call, ASSAY_FORWARD), n.heads, SIDES, space);
    const digit_problem p = {n, v3.to_log2.factor * SCORE_UNIT<Digits>, v3.o, v3.lse, marks};
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, whole_grid(n.heads * ceil_div(n.sq, Plan::ROWS)),
                              dim3(Plan::THREADS), Plan::SHARED, (attend_on_digits<Plan>), p, maps);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, resident_grid<tiles>(n.heads * ceil_div(n.sq, tiles::ROWS)),
                         dim3(tiles::THREADS), (forward_shared<fma_core, tiles>() * sizeof(float)),
                         (forward_of_marked<Digits, fma_core, tiles>), v3, marks);
    return status;
}

template <typename Plans> static assay_status forward_by_digits(const assay_call *call) {
    return sizes_of(call->params).d <= 64 ? forward_on_digits<typename Plans::narrow>(call)
                                          : forward_on_digits<typename Plans::middle>(call);
}

/* ---- backward ---- */

/* Behind v3's terms and dS. */
template <typename Keys> static digit_space backward_space_of(const sizes &n) {
    return digit_space_of<typename Keys::Digits, Keys::D>(n, SPLIT_SIDES,
                                                          terms_bytes(n) + slopes_bytes(n));
}

struct backward_digit_maps {
    digit_keys_maps of_keys;
    tensor_map walked; /* keys, for dq */
};

template <typename Keys, typename Queries>
static assay_status part_on_digits(void *stream, const backward_problem<float> &p,
                                   const head_marks *marks, const backward_digit_maps &maps) {
    typedef typename plans<fma_core, Keys::D>::keys key_tiles;
    typedef typename plans<fma_core, Keys::D>::slopes query_tiles;
    const auto of_keys = [&](int64_t rows) { return p.part.heads * ceil_div(p.part.keys, rows); };
    const auto of_queries = [&](int64_t rows) { return p.part.heads * ceil_div(p.n.sq, rows); };
    assay_status status =
        ASSAY_LAUNCH(stream, whole_grid(of_keys(Keys::ROWS)), dim3(Keys::THREADS), Keys::SHARED,
                     (gradients_on_digits<Keys>), p, marks, maps.of_keys);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(
            stream, resident_grid<key_tiles>(of_keys(key_tiles::ROWS) * key_tiles::PARTS),
            dim3(key_tiles::THREADS), (backward_shared<fma_core, key_tiles>() * sizeof(float)),
            (keys_of_marked<typename Keys::Digits, fma_core, key_tiles>), p, marks);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(of_queries(Queries::ROWS)), dim3(Queries::THREADS),
                              Queries::SHARED, (queries_on_digits<Queries>), p, marks, maps.walked);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(stream, resident_grid<query_tiles>(of_queries(query_tiles::ROWS)),
                         dim3(query_tiles::THREADS), (slopes_shared<query_tiles>() * sizeof(float)),
                         (queries_of_marked<typename Keys::Digits, query_tiles>), p, marks);
    return status;
}

template <typename Keys, typename Queries>
static assay_status map_backward(const assay_call *call, const sizes &n, const digit_space &space,
                                 backward_digit_maps *maps) {
    constexpr int D = Keys::D;
    const struct {
        int side, box_lines;
        tensor_map *map;
    } all[] = {{0, Keys::QUERIES, &maps->of_keys.q},
               {1, Keys::ROWS, &maps->of_keys.k},
               {2, Keys::ROWS, &maps->of_keys.v},
               {3, Keys::QUERIES, &maps->of_keys.dout},
               {1, Queries::KEYS, &maps->walked}};
    assay_status status = ASSAY_OK;
    for (const auto &one : all)
        if (status == ASSAY_OK)
            status = map_digits<D>(
                call, space.side[one.side], planes_of<typename Keys::Digits>(one.side, SPLIT_SIDES),
                n.heads, one.side == 1 || one.side == 2 ? n.sk : n.sq, one.box_lines, one.map);
    return status;
}

template <typename Keys, typename Queries>
static assay_status backward_on_digits(const assay_call *call) {
    static_assert(KEYS_EACH % Keys::ROWS == 0, "the keys of a tile are of one part");
    static_assert(KEYS_EACH % Queries::KEYS == 0, "here, too");
    typedef typename Keys::Digits Digits;
    constexpr int D = Keys::D;
    static_assert(std::is_same_v<Digits, typename Queries::Digits>, "of the same keys");
    backward_problem<float> p = backward_problem_of<float>(call);
    const sizes n = p.n;
    const digit_space space = backward_space_of<Keys>(n);
    const head_marks *const marks = marks_at(call, space);
    backward_digit_maps maps = {};
    assay_status status = map_backward<Keys, Queries>(call, n, space, &maps);
    if (status == ASSAY_OK)
        status = split_all<Digits, D>(call, tensors_of(call, ASSAY_BACKWARD), n.heads, SPLIT_SIDES,
                                      space);
    if (status == ASSAY_OK)
        status = launch_terms(call->stream, p);
    for (p.part = part_at(n, 0, 0); status == ASSAY_OK && p.part.heads > 0;
         p.part = part_behind(n, p.part))
        status = part_on_digits<Keys, Queries>(call->stream, p, marks, maps);
    return status;
}

template <typename Plans> static assay_status backward_by_digits(const assay_call *call) {
    return sizes_of(call->params).d <= 64
               ? backward_on_digits<typename Plans::narrow_keys, typename Plans::narrow_queries>(
                     call)
               : backward_on_digits<typename Plans::middle_keys, typename Plans::middle_queries>(
                     call);
}

template <typename Plans> static size_t digit_workspace(assay_stage stage, const assay_call *call) {
    const sizes n = sizes_of(call->params);
    if (!takes_digits<Plans>(n))
        return v3_workspace(stage, call);
    if (stage == ASSAY_FORWARD)
        return n.d <= 64 ? forward_space_of<typename Plans::narrow>(n).bytes
                         : forward_space_of<typename Plans::middle>(n).bytes;
    return n.d <= 64 ? backward_space_of<typename Plans::narrow_keys>(n).bytes
                     : backward_space_of<typename Plans::middle_keys>(n).bytes;
}

#endif
