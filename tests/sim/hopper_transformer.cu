/*
 * transformer v3_hopper's products with steps inside: each has the bits of linear and of the steps
 * one after the other, by tiles of every width, in sizes that no tile divides.
 */
#include <deque>
#include <initializer_list>
#include <stdint.h>
#include <string.h>
#include <vector>

#include "assay/device.h"
#include "kernels/transformer/hopper_fused.h"
#include "kernels/transformer/stages.h"
#include "tests/shim/assay_test.h"

namespace {

constexpr composition made_of(const char *name, const fusions *fused) {
    return {name, "v3", "v3", "v3_hopper", "v3_hopper", "v3", "v3", "v3", fused};
}
constexpr composition together = made_of("together", &hopper_fused);
constexpr composition apart = made_of("apart", NULL);

/* ---- tensors ---- */

/* What a result holds before: of two that are to be equal, each something else. */
enum before : unsigned char { TOGETHER = 0x5a, APART = 0xa5 };
enum { BEHIND = 4096 /* bytes, which nothing writes to */ };

unsigned char *aligned(std::vector<unsigned char> &memory) {
    return memory.data() + (ARENA_ALIGNMENT - (uintptr_t)memory.data() % ARENA_ALIGNMENT);
}

/* A tensor that owns its memory. */
struct owned {
    std::vector<unsigned char> memory;
    assay_tensor tensor;

    owned(assay_dtype dtype, std::initializer_list<int64_t> shape, unsigned char filled) {
        tensor = dense_at(NULL, dtype, (int32_t)shape.size(), shape.begin());
        memory.assign(bytes() + ARENA_ALIGNMENT + BEHIND, filled);
        tensor.data = aligned(memory);
    }
    owned(const owned &) = delete;

    size_t bytes() const {
        return (size_t)assay_tensor_count(&tensor) * assay_dtype_size(tensor.dtype);
    }
    operator const assay_tensor &() const {
        return tensor;
    }
};

/* Numbers of [-2, 2), which have more digits than bf16 keeps in fp32. */
struct random_numbers {
    uint32_t state = 1;

    float next() {
        state = state * 1664525 + 1013904223;
        return (float)(state >> 8) * 0x1p-22f - 2;
    }
    void fill(const assay_tensor &t, float scale) {
        for (int64_t e = 0; e < assay_tensor_count(&t); ++e)
            if (t.dtype == ASSAY_F32)
                static_cast<float *>(t.data)[e] = scale * next();
            else
                static_cast<bf16 *>(t.data)[e] = narrow<bf16>(scale * next());
    }
};

struct given : owned {
    given(random_numbers &numbers, std::initializer_list<int64_t> shape,
          assay_dtype dtype = ASSAY_BF16)
        : owned(dtype, shape, 0) {
        numbers.fill(tensor, 1);
    }
};

struct result {
    owned together, apart;

    result(std::initializer_list<int64_t> shape, assay_dtype dtype = ASSAY_BF16)
        : together(dtype, shape, TOGETHER), apart(dtype, shape, APART) {
    }

    /* `together` is then as it was before. */
    void check(const char *what, int64_t columns) {
        const size_t size = assay_dtype_size(apart.tensor.dtype);
        const int64_t count = assay_tensor_count(&apart.tensor);
        const unsigned char *got = static_cast<unsigned char *>(together.tensor.data);
        const unsigned char *want = static_cast<unsigned char *>(apart.tensor.data);
        for (int64_t e = 0; e < count; ++e)
            REQUIRE_MSG(memcmp(got + (size_t)e * size, want + (size_t)e * size, size) == 0,
                        "%s, tiles of %d columns: element %d of %d has other bits", what,
                        (int)columns, (int)e, (int)count);
        memset(together.tensor.data, TOGETHER, together.bytes());
        check_untouched();
    }
    /* Nothing was written. */
    void check_untouched() const {
        for (const unsigned char byte : together.memory)
            REQUIRE(byte == TOGETHER);
    }
};

/* ---- the parts ---- */

/* A walk outside of a model, of `tokens` in `b` sequences. */
struct parts {
    std::vector<unsigned char> memory;
    walk w;

    parts(int64_t b, int64_t t, int64_t heads, int64_t ff) : memory((size_t)8 << 20), w() {
        w.purpose = RUN;
        w.parts = &apart;
        w.memory.memory = aligned(memory);
        w.memory.bytes = memory.size() - ARENA_ALIGNMENT;
        w.status = ASSAY_OK;
        w.m.b = b;
        w.m.t = t;
        w.m.tokens = b * t;
        w.m.heads = heads;
        w.m.head_dim = HEAD;
        w.m.d = heads * HEAD;
        w.m.ff = ff;
        w.m.dtype = ASSAY_BF16;
        w.angles = take_angles(&w);
    }
    const float *angles() const {
        return static_cast<const float *>(w.angles.data);
    }
    void check() const {
        REQUIRE_OK(w.status);
        REQUIRE(!arena_exhausted(&w.memory));
    }
};

/* ---- gates ---- */

enum { SOME_TOKENS = 200, FF = 136, WIDTH = 72 };

/* One tensor of whole pieces, one of a piece and a pack. */
struct copied_ahead {
    given first, second;
    result to_first, to_second;
    copies_ahead list = {};

    copied_ahead(random_numbers &numbers, parts &p)
        : first(numbers, {2 * AHEAD_PIECE}, ASSAY_F32),
          second(numbers, {AHEAD_PIECE + 8}, ASSAY_F32), to_first({2 * AHEAD_PIECE}),
          to_second({AHEAD_PIECE + 8}) {
        add(first, to_first);
        add(second, to_second);
        list.last = list.end[1];
        copy(&p.w, first, to_first.apart);
        copy(&p.w, second, to_second.apart);
    }
    void add(const assay_tensor &from, const result &to) {
        const int k = list.count++;
        list.from[k] = static_cast<const float *>(from.data);
        list.to[k] = static_cast<bf16 *>(to.together.tensor.data);
        list.elements[k] = assay_tensor_count(&from);
        list.end[k] = (k > 0 ? list.end[k - 1] : 0) + ceil_div(list.elements[k], AHEAD_PIECE);
    }
    void check(int64_t columns) {
        to_first.check("parameters copied ahead", columns);
        to_second.check("parameters copied ahead", columns);
    }
};

/* Pieces that blocks without a tile copy: of one tensor from its second piece on, and of another.
 */
struct spare_copies {
    given first, second;
    result to_first, to_second;
    copies_ahead list = {};

    spare_copies(random_numbers &numbers, parts &p)
        : first(numbers, {3 * SPARE_PIECE}, ASSAY_F32),
          second(numbers, {SPARE_PIECE / 2 + 8}, ASSAY_F32), to_first({3 * SPARE_PIECE}),
          to_second({SPARE_PIECE / 2 + 8}) {
        add(first, to_first);
        add(second, to_second);
        list.first = 1;
        copy(&p.w, first, to_first.apart);
        copy(&p.w, second, to_second.apart);
        memset(to_first.apart.tensor.data, TOGETHER, SPARE_PIECE * sizeof(bf16));
    }
    void add(const assay_tensor &from, const result &to) {
        const int k = list.count++;
        list.from[k] = static_cast<const float *>(from.data);
        list.to[k] = static_cast<bf16 *>(to.together.tensor.data);
        list.elements[k] = assay_tensor_count(&from);
        list.end[k] = (k > 0 ? list.end[k - 1] : 0) + ceil_div(list.elements[k], SPARE_PIECE);
    }
    copies_ahead *offer() {
        list.spare = true;
        list.last = list.end[1];
        return &list;
    }
    void check(int64_t tiles, int64_t columns) {
        if (tiles % ASSAY_MULTIPROCESSORS == 0) {
            REQUIRE(list.last == list.first);
            to_first.check_untouched();
            to_second.check_untouched();
            return;
        }
        REQUIRE(list.last == list.end[1]);
        to_first.check("parameters copied by spare blocks", columns);
        to_second.check("parameters copied by spare blocks", columns);
    }
};

/* Tiles of these widths one after the other. */
template <typename... Tiles> struct widths {
    template <typename Check> void each(Check check) const {
        (check.template operator()<Tiles>(), ...);
    }
};
constexpr widths<wide_tile, middle_tile, narrow_tile, thin_tile> each_width;
constexpr widths<mixed_tile> mixed;

template <bool KEEP> void check_gates() {
    random_numbers numbers;
    parts p(1, SOME_TOKENS, 1, FF);
    const given x(numbers, {SOME_TOKENS, WIDTH}), weights(numbers, {2 * FF, WIDTH});
    result gates({SOME_TOKENS, 2 * FF}), y({SOME_TOKENS, FF});
    copied_ahead ahead(numbers, p);
    linear_forward(&p.w, x, weights, gates.apart);
    swiglu_forward(&p.w, columns_of(&gates.apart.tensor, 0, FF),
                   columns_of(&gates.apart.tensor, FF, FF), y.apart);
    p.check();
    widths<wide_tile, narrow_tile>().each([&]<typename Tile>() {
        const gates_product product = {x,           weights, gates.together, y.together,
                                       SOME_TOKENS, FF,      &ahead.list};
        REQUIRE_OK((launch_gates<Tile, KEEP>(NULL, product)));
        y.check("swiglu of the gates", Tile::columns);
        if (KEEP)
            gates.check("the gates", Tile::columns);
        else
            gates.check_untouched();
        ahead.check(Tile::columns);
    });
}

void check_gates_backward() {
    random_numbers numbers;
    parts p(1, SOME_TOKENS, 1, FF);
    const given d(numbers, {SOME_TOKENS, WIDTH}), weight(numbers, {WIDTH, FF});
    const given gates(numbers, {SOME_TOKENS, 2 * FF}), gated(numbers, {SOME_TOKENS, FF});
    result dgates({SOME_TOKENS, 2 * FF});
    const owned dgated(ASSAY_BF16, {SOME_TOKENS, FF}, APART),
        dweight(ASSAY_BF16, {WIDTH, FF}, APART);
    linear_backward(&p.w, gated, weight, d, dgated, dweight);
    swiglu_backward(&p.w, columns_of(&gates.tensor, 0, FF), columns_of(&gates.tensor, FF, FF),
                    dgated, columns_of(&dgates.apart.tensor, 0, FF),
                    columns_of(&dgates.apart.tensor, FF, FF));
    p.check();
    widths<middle_tile, narrow_tile>().each([&]<typename Tile>() {
        REQUIRE_OK(
            launch_gates_grad<Tile>(NULL, {d, weight, gates, dgates.together, SOME_TOKENS, FF}));
        dgates.check("the gates' gradients", Tile::columns);
    });
}

/* ---- heads ---- */

/* Tokens of a sequence that are no power of two, and more heads than some tiles have. */
struct heads_case {
    int64_t b, t, heads;
};
constexpr heads_case heads_cases[] = {{2, 384, 1}, {3, 128, 1}, {2, 128, 3}};

/* q, k and v of one tensor, the first two turned. */
heads three_parts(const assay_tensor &all) {
    return {{part_of(&all, 0, 3), part_of(&all, 1, 3), part_of(&all, 2, 3)}, 3, 2};
}

void check_three_heads(const heads_case &c) {
    random_numbers numbers;
    parts p(c.b, c.t, c.heads, FF);
    const int64_t d = p.w.m.d, tokens = p.w.m.tokens;
    const given x(numbers, {tokens, d}), weight(numbers, {3 * d, d});
    const owned rows(ASSAY_BF16, {tokens, 3 * d}, APART);
    result all({3 * c.b, c.heads, c.t, HEAD});
    linear_forward(&p.w, x, weight, rows);
    split_heads(&p.w, rows, three_parts(all.apart));
    p.check();
    spare_copies spare(numbers, p);
    each_width.each([&]<typename Tile>() {
        const placed_product product =
            forward_product(x, weight, all.together, tokens, p.angles(), 2 * d, spare.offer());
        REQUIRE_OK((launch_placed<Tile, forward_kind, true>(NULL, product)));
        all.check("q, k and v", Tile::columns);
        spare.check(hopper_tiles<Tile::columns>(tokens, 3 * d), Tile::columns);
    });
}

/* Their gradients, turned back where they lie, to that of the rows and of the weight. */
void check_three_heads_backward(const heads_case &c) {
    random_numbers numbers;
    parts p(c.b, c.t, c.heads, FF);
    const int64_t d = p.w.m.d, tokens = p.w.m.tokens;
    const given x(numbers, {tokens, d}), weight(numbers, {3 * d, d});
    const given dall(numbers, {3 * c.b, c.heads, c.t, HEAD});
    const owned drows(ASSAY_BF16, {tokens, 3 * d}, APART);
    result dx({tokens, d}), dweight({3 * d, d});
    merge_heads(&p.w, three_parts(dall), drows);
    linear_backward(&p.w, x, weight, drows, dx.apart, dweight.apart);
    assay_tensor turned = dall;
    turned.shape[0] = 2 * c.b;
    turn_heads_back(&p.w, turned);
    p.check();
    const placed_product to_dx = dx_product(dall, weight, dx.together, tokens);
    const placed_product to_dweight = dw_product(dall, x, dweight.together, tokens);
    each_width.each([&]<typename Tile>() {
        REQUIRE_OK((launch_placed<Tile, dx_kind, false>(NULL, to_dx)));
        REQUIRE_OK((launch_placed<Tile, dw_kind, false>(NULL, to_dweight)));
        dx.check("the gradient of the input of q, k and v", Tile::columns);
        dweight.check("the gradient of the weight of q, k and v", Tile::columns);
    });
}

/* The product of o, and back. */
template <typename Tiles> void check_output(const heads_case &c, Tiles tiles) {
    random_numbers numbers;
    parts p(c.b, c.t, c.heads, FF);
    const int64_t d = p.w.m.d, tokens = p.w.m.tokens;
    const given o(numbers, {c.b, c.heads, c.t, HEAD}), weight(numbers, {d, d});
    const given dy(numbers, {tokens, d});
    const owned merged(ASSAY_BF16, {tokens, d}, APART), dmerged(ASSAY_BF16, {tokens, d}, APART);
    result y({tokens, d}), dout({c.b, c.heads, c.t, HEAD}), dweight({d, d});
    merge_heads(&p.w, one_of_heads(o), merged);
    linear_forward(&p.w, merged, weight, y.apart);
    linear_backward(&p.w, merged, weight, dy, dmerged, dweight.apart);
    split_heads(&p.w, dmerged, one_of_heads(dout.apart));
    p.check();
    const placed_product to_y = forward_product(o, weight, y.together, tokens, NULL, 0, NULL);
    const placed_product to_dout = dx_product(dy, weight, dout.together, tokens);
    const placed_product to_dweight = dw_product(dy, o, dweight.together, tokens);
    tiles.each([&]<typename Tile>() {
        REQUIRE_OK((launch_placed<Tile, forward_kind, false>(NULL, to_y)));
        REQUIRE_OK((launch_placed<Tile, dx_kind, false>(NULL, to_dout)));
        REQUIRE_OK((launch_placed<Tile, dw_kind, false>(NULL, to_dweight)));
        y.check("the product of o", Tile::columns);
        dout.check("o's gradient", Tile::columns);
        dweight.check("the gradient of o's weight", Tile::columns);
    });
}

/* ---- gradients in fp32 ---- */

/* Of `count` weights side by side, to a tensor each. */
template <typename Tiles>
void check_wide_gradient(int64_t count, int64_t rows, int64_t columns, Tiles tiles) {
    random_numbers numbers;
    parts p(1, SOME_TOKENS, 1, FF);
    const int64_t n = count * rows;
    const given x(numbers, {SOME_TOKENS, columns}), dy(numbers, {SOME_TOKENS, n}),
        weight(numbers, {n, columns});
    const owned dx(ASSAY_BF16, {SOME_TOKENS, columns}, APART),
        dweight(ASSAY_BF16, {n, columns}, APART);
    result wide({n, columns}, ASSAY_F32);
    linear_backward(&p.w, x, weight, dy, dx, dweight);
    copy(&p.w, dweight, wide.apart);
    p.check();
    grad_parts to = {};
    for (; to.count < count; ++to.count)
        to.part[to.count] = part_of(&wide.together.tensor, to.count, count);
    REQUIRE(grad_fits(dy, x, to, SOME_TOKENS));
    const grad_product product = {
        placed(dy, SOME_TOKENS), placed(x, SOME_TOKENS), &to, n, columns, SOME_TOKENS};
    tiles.each([&]<typename Tile>() {
        REQUIRE_OK(launch_grad<Tile>(NULL, product));
        wide.check("the gradient in fp32", Tile::columns);
    });
}

/* ---- what is taken ---- */

bool takes_gradient(const assay_tensor &dy, const assay_tensor &x, const assay_tensor &first,
                    const assay_tensor &second) {
    const grad_parts to = {{first, second}, 2};
    return grad_fits(dy, x, to, SOME_TOKENS);
}

/* ---- a model ---- */

struct model_sizes {
    int64_t b, t, steps, vocab, d, ff, layers, heads;
};

/* A stage with random inputs, by both compositions. */
struct model_call {
    assay_stage stage;
    assay_params params = strict_params(ASSAY_BF16);
    random_numbers numbers;
    std::deque<owned> inputs;
    std::deque<result> results;

    model_call(assay_stage of, const model_sizes &s) : stage(of) {
        add_int(&params, "size", 0);
        add_int(&params, "layers", s.layers);
        add_int(&params, "heads", s.heads);
        add_int(&params, "steps", s.steps);
        add_real(&params, "lr", 1e-3);
        add_real(&params, "wd", 0.01);
        add_tokens(s);
        add_tokens(s);
        const bool gradients = stage == ASSAY_BACKWARD;
        if (s.steps > 0)
            add_result(ASSAY_F32, {s.steps}); /* losses */
        else if (!gradients)
            add_logits_and_loss(s);
        add_parameters(s, gradients || s.steps > 0);
        if (gradients) { /* logits and loss, which it does not read, and the loss's cotangent */
            add_input({s.b, s.t, s.vocab}, ASSAY_BF16, 1);
            add_input({1}, ASSAY_F32, 1);
            add_input({1}, ASSAY_F32, 1);
        }
    }
    model_call(const model_call &) = delete;

    void add_input(std::initializer_list<int64_t> shape, assay_dtype dtype, float scale) {
        inputs.emplace_back(dtype, shape, (unsigned char)0);
        numbers.fill(inputs.back(), scale);
    }
    void add_result(assay_dtype dtype, std::initializer_list<int64_t> shape) {
        results.emplace_back(shape, dtype);
    }
    void add_tokens(const model_sizes &s) {
        const std::initializer_list<int64_t> shape = {1, s.b, s.t};
        inputs.emplace_back(ASSAY_I32, shape, (unsigned char)0);
        int32_t *words = static_cast<int32_t *>(inputs.back().tensor.data);
        for (int64_t e = 0; e < s.b * s.t; ++e)
            words[e] = (int32_t)((numbers.next() + 2) / 4 * (float)s.vocab);
    }
    void add_logits_and_loss(const model_sizes &s) {
        add_result(ASSAY_BF16, {s.b, s.t, s.vocab});
        add_result(ASSAY_F32, {1});
    }
    /* And a result of each one's shape. */
    void add_parameter(std::initializer_list<int64_t> shape, bool results) {
        const float last = (float)shape.begin()[shape.size() - 1];
        add_input(shape, ASSAY_F32, shape.size() > 1 ? 1 / sqrtf(last) : 1);
        if (results)
            add_result(ASSAY_F32, shape);
    }
    void add_parameters(const model_sizes &s, bool results) {
        add_parameter({s.vocab, s.d}, results);
        for (int64_t layer = 0; layer < s.layers; ++layer) {
            add_parameter({s.d}, results);
            for (int k = 0; k < 4; ++k)
                add_parameter({s.d, s.d}, results);
            add_parameter({s.d}, results);
            add_parameter({s.ff, s.d}, results);
            add_parameter({s.d, s.ff}, results);
            add_parameter({s.ff, s.d}, results);
        }
        add_parameter({s.d}, results);
        add_parameter({s.vocab, s.d}, results);
    }

    void run(const composition &parts, const owned result::*which) const {
        std::vector<assay_tensor> in, out;
        for (const owned &x : inputs)
            in.push_back(x);
        for (const result &x : results)
            out.push_back(x.*which);
        assay_call call = {};
        call.params = &params;
        call.n_in = (int32_t)in.size();
        call.n_out = (int32_t)out.size();
        call.in = in.data();
        call.out = out.data();
        const owned workspace(ASSAY_BF16, {(int64_t)planned_bytes(&parts, stage, &call)}, 0);
        call.workspace = workspace.tensor.data;
        call.workspace_bytes = workspace.bytes();
        REQUIRE_OK(run_stage(&parts, stage, &call));
    }
};

void check_model(assay_stage stage, const model_sizes &s) {
    model_call m(stage, s);
    m.run(together, &result::together);
    m.run(apart, &result::apart);
    for (result &x : m.results)
        x.check("a result of the model", 0);
}

} // namespace

ASSAY_TEST(transformer_fused, swiglu_in_the_gates_product, "unit transformer") {
    check_gates<true>();
    check_gates<false>();
}

ASSAY_TEST(transformer_fused, swiglu_backward_in_a_product, "unit transformer") {
    check_gates_backward();
}

ASSAY_TEST(transformer_fused, rope_and_heads_in_a_product, "unit transformer") {
    for (const heads_case &c : heads_cases)
        check_three_heads(c);
}

ASSAY_TEST(transformer_fused, heads_in_the_products_of_their_gradients, "unit transformer") {
    for (const heads_case &c : heads_cases)
        check_three_heads_backward(c);
}

ASSAY_TEST(transformer_fused, heads_in_the_products_of_o, "unit transformer") {
    for (const heads_case &c : heads_cases)
        check_output(c, each_width);
}

/* Two and three rows of tiles, of five units each. */
ASSAY_TEST(transformer_fused, heads_in_products_in_shares_of_rows, "unit transformer") {
    const assay_device *sim;
    REQUIRE_OK(assay_device_open("sim", &sim));
    sim->plan_for(3);
    check_output({2, 128, 5}, mixed);
    sim->plan_for(0);
}

ASSAY_TEST(transformer_fused, gradients_in_fp32, "unit transformer") {
    check_wide_gradient(1, WIDTH, FF, each_width);
    check_wide_gradient(2, 2 * BOX, FF, each_width);
    check_wide_gradient(3, BOX, FF, each_width);
    check_wide_gradient(3, BOX, 5 * UNIT - 16, mixed);
}

ASSAY_TEST(transformer_fused, sizes_that_are_taken, "unit transformer") {
    constexpr int64_t most = MOST_EXTENT;
    CHECK(rows_fit(most, 8, 8) && rows_fit(1, most / 4 / 8 * 8, 8) && rows_fit(1, 8, most / 8 * 8));
    CHECK(!rows_fit(most + 1, 8, 8));
    CHECK(!rows_fit(8, most / 4 + 8, 8) && !rows_fit(8, 8, most + 8));
    CHECK(!rows_fit(0, 8, 8) && !rows_fit(8, 0, 8) && !rows_fit(8, 8, 0));
    CHECK(!rows_fit(8, 12, 8) && !rows_fit(8, 8, 12));
    CHECK(heads_fit(256, 128, 128, 64) && heads_fit(256, 256, 128, 64));
    CHECK(!heads_fit(256, 64, 128, 64) && !heads_fit(256, 128, 128, 32));
    CHECK(!heads_fit(most + 1, 128, 128, 64) && !heads_fit(128, 128, most / 12 / 64 * 64 + 64, 64));
}

ASSAY_TEST(transformer_fused, gradients_that_are_taken, "unit transformer") {
    const owned dy(ASSAY_BF16, {SOME_TOKENS, 2 * BOX}, 0), x(ASSAY_BF16, {SOME_TOKENS, WIDTH}, 0);
    const owned to(ASSAY_F32, {BOX, WIDTH}, 0), narrow(ASSAY_BF16, {BOX, WIDTH}, 0);
    const owned odd(ASSAY_F32, {BOX - 1, WIDTH}, 0);
    CHECK(takes_gradient(dy, x, to, to));
    CHECK(!takes_gradient(dy, x, narrow, to) && !takes_gradient(dy, x, to, narrow));
    CHECK(!takes_gradient(dy, x, odd, odd));
    const assay_tensor askew = {.data = static_cast<float *>(to.tensor.data) + 1,
                                .dtype = ASSAY_F32,
                                .rank = 2,
                                .inner = 1,
                                .shape = {BOX, WIDTH},
                                .stride = {WIDTH, 1}};
    CHECK(!takes_gradient(dy, x, askew, to) && !takes_gradient(dy, x, to, askew));
    const assay_tensor rows = columns_of(&dy.tensor, 1, 2 * BOX - 1);
    CHECK(!takes_gradient(rows, x, to, to));
    const assay_tensor columns = columns_of(&x.tensor, 1, WIDTH - 1);
    CHECK(!takes_gradient(dy, columns, to, to));
}

/* Heads of 64 columns, and whole tiles of tokens. */
ASSAY_TEST(transformer_fused, a_model_with_heads, "unit transformer") {
    static const model_sizes s = {
        .b = 2, .t = 128, .steps = 0, .vocab = 24, .d = 128, .ff = 72, .layers = 2, .heads = 2};
    check_model(ASSAY_FORWARD, s);
    check_model(ASSAY_BACKWARD, s);
}

/* Other heads, which are moved by themselves, and more layers, which are copied ahead. */
ASSAY_TEST(transformer_fused, a_model_of_other_heads, "unit transformer") {
    model_sizes s = {
        .b = 3, .t = 23, .steps = 0, .vocab = 20, .d = 40, .ff = 72, .layers = 3, .heads = 2};
    check_model(ASSAY_BACKWARD, s);
    s.steps = 2;
    check_model(ASSAY_FORWARD, s);
}

/* So few tokens that blocks without a tile copy weights, some of which kernels then copy. */
ASSAY_TEST(transformer_fused, a_model_of_few_tokens, "unit transformer") {
    model_sizes s = {
        .b = 1, .t = 21, .steps = 0, .vocab = 20, .d = 72, .ff = 136, .layers = 4, .heads = 3};
    check_model(ASSAY_FORWARD, s);
    check_model(ASSAY_BACKWARD, s);
    s.steps = 2;
    check_model(ASSAY_FORWARD, s);
}
