/*
 * One stage by digits: out[row, l, j, r] = sum over i of in[row, l, i, r] W[i, j].
 *
 * A block keeps COLUMNS columns of the factor in shared memory as digits. Each of its warpgroups
 * takes tiles of LINES columns of the state in turn: copies the numbers to shared memory, takes all
 * of them to registers, and leaves the tile to the copies of the next, which are under way while
 * digits are made and products are. The second slice's digits are made beside products of the
 * first. A column of the state is a line of digits, all of its k in
 * the four lanes that have the line: its power costs no pass of its own.
 */
#ifndef ASSAY_KRONECKER_DIGIT_CONTRACT_H
#define ASSAY_KRONECKER_DIGIT_CONTRACT_H

#include "kernels/kronecker/digit_factor.h"
#include "kernels/kronecker/digit_state.h"

/* Warpgroups of a block: what registers allow, of which a thread has 128, 168 or 255. With fewer
 * than it takes to hold a slice's numbers, digits and sums, ptxas makes each wgmma wait for the one
 * before. `stages`: tiles of a warpgroup, of which all but one are on their way. */
template <int SLICES, int COLUMNS> struct contract_shape {
    static constexpr int groups = SLICES * COLUMNS == 64 ? 4 : SLICES * COLUMNS == 128 ? 3 : 2;
    static constexpr int threads = groups * GROUP;
    static constexpr int stages = SLICES == 1 ? 2 : 1;
};

struct digit_contraction {
    digit_axes axes;
    digit_state<const float> in;
    digit_state<float> out;
    factor<const float> w;
};

/* A lane's results of a tile: put(half, i, low, high, has_low, has_high) of columns 8 i + 2 t and
 * the next one, half 1 of the lane's second line. Those of marked lines and columns are 0
 * and not to be put. */
template <int COLUMNS, typename Put>
static __device__ __forceinline__ void
put_sums(const float (&sums)[COLUMNS / 2], const line_powers &lines, const int32_t *power,
         const float *scale, bool odd_columns, const Put &put) {
    const bool plain = __all_sync(0xffffffffu, !odd_columns && is_plain(lines.power[0]) &&
                                                   is_plain(lines.power[1])) != 0;
    if (plain) {
        const float low = plain_power(lines.power[0]), high = plain_power(lines.power[1]);
#pragma unroll
        for (int i = 0; i < COLUMNS / 8; ++i) {
            const int j = own_column(i);
            const float first = scale[j], second = scale[j + 1];
            put(0, i, sums[4 * i] * (low * first), sums[4 * i + 1] * (low * second), true, true);
            put(1, i, sums[4 * i + 2] * (high * first), sums[4 * i + 3] * (high * second), true,
                true);
        }
        return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int32_t line = lines.power[half];
#pragma unroll
        for (int i = 0; i < COLUMNS / 8; ++i) {
            const int32_t first = power[own_column(i)], second = power[own_column(i) + 1];
            const bool has_low = line != MARKED && first != MARKED;
            const bool has_high = line != MARKED && second != MARKED;
            put(half, i, has_low ? unscale(sums[4 * i + 2 * half], line + first) : 0,
                has_high ? unscale(sums[4 * i + 2 * half + 1], line + second) : 0, has_low,
                has_high);
        }
    }
}

/* Chains of multiply-adds for the warp's elements whose line or column has no digits. */
template <class Tile, int COLUMNS, typename Put>
static __device__ __forceinline__ void
multiply_marked(const float *tile, const factor_part &w, const line_powers &lines,
                const int32_t *power, bool marked_columns, const Put &put) {
    const uint32_t marks[2] = {lines.marks(0), lines.marks(1)};
    if (marks[0] == 0 && marks[1] == 0 && !marked_columns)
        return;
#pragma unroll 1
    for (int e = warp_lane(); e < 16 * COLUMNS; e += 32) {
        const int line = e % 16, j = e / 16;
        if (((line < 8 ? marks[0] : marks[1]) >> line % 8 * 4 & 1) == 0 && power[j] != MARKED)
            continue;
        if (!w.has(0, j))
            continue;
        float sum = 0;
#pragma unroll 1
        for (int k = 0; k < w.p; ++k)
            sum = fma_(tile[Tile::at(16 * group_warp() + line, k)], *w.at(k, j), sum);
        put(16 * group_warp() + line, j, sum);
    }
}

/* A lane's lines of the result in memory. */
template <bool LAST> struct result_lines {
    float *line[2];
    int q, first;
    uint32_t right;
    bool pairs;

    __device__ __forceinline__ result_lines(const digit_axes &axes, const digit_state<float> &out,
                                            uint32_t tile, int first_j)
        : q(out.extent), first(first_j), right(axes.right), pairs(out.pairs) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t c = tile + (uint32_t)own_line() + 8u * half;
            line[half] = c < axes.columns ? out.data + column_at<LAST>(axes, out, c) : NULL;
        }
    }
    __device__ __forceinline__ void operator()(int half, int i, float low, float high, bool has_low,
                                               bool has_high) const {
        if (!line[half])
            return;
        const int j = first + own_column(i);
        const bool low_there = has_low && j < q, high_there = has_high && j + 1 < q;
        float *const to = line[half] + (int64_t)j * (LAST ? 1 : right);
        if (LAST && pairs && low_there && high_there) {
            *reinterpret_cast<float2 *>(to) = make_float2(low, high);
            return;
        }
        if (low_there)
            *to = low;
        if (high_there)
            to[LAST ? 1 : right] = high;
    }
};

template <int SLICES, int COLUMNS, bool LAST>
static __global__ void __launch_bounds__(contract_shape<SLICES, COLUMNS>::threads, 1)
    contract_by_digits(digit_contraction p) {
    typedef line_tile<LAST, SLICES> tile_shape;
    typedef contract_shape<SLICES, COLUMNS> shape;
    constexpr int GROUPS = shape::groups, BLOCK = GROUPS * GROUP, STAGES = shape::stages;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const factor_boxes<SLICES, COLUMNS> boxes = {shared +
                                                 (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
    const int group = (int)threadIdx.x / GROUP;
    float *const tiles = reinterpret_cast<float *>(boxes.boxes + boxes.bytes) +
                         group * STAGES * tile_shape::elements;
    const uint32_t parts = (uint32_t)ceil_div(p.out.extent, COLUMNS);
    const factor_part w = {p.w, p.in.extent, p.out.extent, (int)(blockIdx.x % parts) * COLUMNS};
    const uint32_t step = gridDim.x / parts * GROUPS * LINES;
    uint32_t first = (blockIdx.x / parts + gridDim.x / parts * (uint32_t)group) * LINES;
    const auto fetch = [&](uint32_t from, float *tile) {
        if (from < p.axes.columns)
            fetch_columns<LAST, tile_shape::depth>(p.axes, p.in, from, 0, tile, tile_shape::stride);
        cp_async_commit();
    };
    fetch_factor<SLICES, COLUMNS, BLOCK>(w, boxes);
    cp_async_commit();
#pragma unroll
    for (int i = 0; i < STAGES; ++i)
        fetch(first + i * step, tiles + i * tile_shape::elements);
    cp_async_wait<STAGES>();
    const factor_kind kind = split_factor<SLICES, COLUMNS, LAST, BLOCK>(
        boxes, fetched_factor<SLICES, COLUMNS>{boxes.raw()});
    int stage = 0;
    for (; first < p.axes.columns; first += step) {
        cp_async_wait<STAGES - 1>();
        group_barrier();
        float *const tile = tiles + stage * tile_shape::elements;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        slice_numbers x[SLICES];
        extremes found[2];
#pragma unroll
        for (int s = 0; s < SLICES; ++s) {
            take_slice<tile_shape>(tile, s, x[s]);
            add_extremes(x[s], found);
        }
        const line_powers lines(found);
        const result_lines<LAST> out(p.axes, p.out, first, w.first);
        multiply_marked<tile_shape, COLUMNS>(
            tile, w, lines, boxes.power(), kind.marked, [&](int line, int column, float sum) {
                const uint32_t c = first + (uint32_t)line;
                const int j = w.first + column;
                if (c < p.axes.columns && j < p.out.extent)
                    p.out.data[column_at<LAST>(p.axes, p.out, c) + (int64_t)j * p.axes.right] = sum;
            });
        group_barrier();
        fetch(first + STAGES * step, tile);
        float total[COLUMNS / 2];
        const slice_digits digits(x[0], lines);
        start_slice<COLUMNS>(digits, boxes.slice(0), total);
        if constexpr (SLICES == 2) {
            const slice_digits second(x[1], lines);
            finish_slice(total);
            float sums[COLUMNS / 2];
            multiply_slice<COLUMNS>(second, boxes.slice(1), sums);
#pragma unroll
            for (int i = 0; i < COLUMNS / 2; ++i)
                total[i] += sums[i];
        } else {
            finish_slice(total);
        }
        put_sums<COLUMNS>(total, lines, boxes.power(), boxes.scale(), kind.odd, out);
    }
}

template <int SLICES, int COLUMNS, bool LAST>
static assay_status launch_contract(void *stream, const digit_contraction &p) {
    typedef contract_shape<SLICES, COLUMNS> shape;
    constexpr size_t bytes =
        TENSOR_ALIGNMENT + factor_boxes<SLICES, COLUMNS>::bytes +
        shape::groups * shape::stages * line_tile<LAST, SLICES>::elements * sizeof(float);
    static_assert(bytes <= ASSAY_MAX_SHARED, "factor and tiles fit a block");
    const int64_t parts = ceil_div(p.out.extent, COLUMNS);
    const int64_t blocks = clamp(ceil_div(p.axes.columns, LINES), 0,
                                 clamp(ASSAY_MULTIPROCESSORS / parts, 1, INT32_MAX));
    return ASSAY_LAUNCH(stream, whole_grid(blocks * parts), dim3(shape::threads), bytes,
                        (contract_by_digits<SLICES, COLUMNS, LAST>), p);
}

template <int SLICES, bool LAST>
static assay_status launch_contract(void *stream, const digit_contraction &p) {
    const bool many = ceil_div(p.axes.columns, LINES) >= ASSAY_MULTIPROCESSORS;
    return many && p.out.extent > 64 ? launch_contract<SLICES, 128, LAST>(stream, p)
                                     : launch_contract<SLICES, 64, LAST>(stream, p);
}

/* The factor has p.in.extent rows, at most 2 SLICE, and p.out.extent columns. */
static assay_status contract_digits(void *stream, const digit_contraction &p) {
    if (p.axes.right > 1)
        return p.in.extent > SLICE ? launch_contract<2, false>(stream, p)
                                   : launch_contract<1, false>(stream, p);
    return p.in.extent > SLICE ? launch_contract<2, true>(stream, p)
                               : launch_contract<1, true>(stream, p);
}

#endif
