/*
 * Holds the model of the matrix instructions (sim/mma.c) against a GPU, bit for bit, on
 * random tiles. A program to run by hand when the model or the GPU is new:
 *
 *     nvcc -O2 -std=c++20 -arch=sm_90a -fmad=false -I. -Iinclude tests/sim/tensor_gpu.cu \
 *         sim/mma.c sim/mma_sum.c -o tensor_gpu
 *     ./tensor_gpu [tiles per instruction [part of its name]]
 *
 * Prints, for each instruction and class of tiles, how many tiles and elements differ, and the
 * first element. Those that are NaN on both sides, with other bits, it counts apart: the model's
 * bits of an f64 NaN are the host's. Exit code 1 when an element differs otherwise, 2 when the GPU
 * fails.
 */
#include "kernels/common/tensor.h"
#include "sim/mma.h"

#include <stdio.h>
#include <stdlib.h>

#include <vector>

enum { LANES = 32, BATCH = 4096, MOST_A = 16, MOST_B = 8, MOST_C = 8 };

/* One lane's registers, for all shapes: a 64-bit operand takes two of them. */
struct lane_registers {
    alignas(8) uint32_t a[MOST_A], b[MOST_B], c[MOST_C];
};

static __device__ void multiply_f64(sim_mma_shape shape, lane_registers *own) {
    double a[MOST_A / 2], b[MOST_B / 2], c[MOST_C / 2];
    memcpy(a, own->a, sizeof a);
    memcpy(b, own->b, sizeof b);
    memcpy(c, own->c, sizeof c);
    if (shape == SIM_M8N8K4_F64)
        mma_m8n8k4_f64(c, a[0], b[0]);
    else if (shape == SIM_M16N8K4_F64)
        mma_m16n8k4_f64(c, a, b);
    else if (shape == SIM_M16N8K8_F64)
        mma_m16n8k8_f64(c, a, b);
    else
        mma_m16n8k16_f64(c, a, b);
    memcpy(own->c, c, sizeof c);
}

static __global__ void multiply(sim_mma_shape shape, lane_registers *lanes) {
    lane_registers *own = &lanes[(int64_t)blockIdx.x * LANES + threadIdx.x];
    float c[4];
    memcpy(c, own->c, sizeof c);
    if (shape == SIM_M16N8K16_BF16)
        mma_m16n8k16_bf16(c, own->a, own->b);
    else if (shape == SIM_M16N8K16_F16)
        mma_m16n8k16_f16(c, own->a, own->b);
    else if (shape == SIM_M16N8K8_TF32)
        mma_m16n8k8_tf32(c, own->a, own->b);
    else
        multiply_f64(shape, own);
    if (shape > SIM_M16N8K8_TF32)
        return;
    memcpy(own->c, c, sizeof c);
}

static void must(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "tensor_gpu: %s: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

/* SplitMix64. */
static uint64_t draw() {
    static uint64_t state = 1;
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t draw_between(int64_t low, int64_t high) {
    return low + (int64_t)(draw() % (uint64_t)(high - low + 1));
}

struct format {
    int exponent_bits, fraction_bits;
};

struct instruction {
    const char *name;
    sim_mma_shape shape;
    format operand, accumulator;
    int a, b, c; /* a lane's registers of 32 bits */
};

static const instruction instructions[] = {
    {"m16n8k16 bf16", SIM_M16N8K16_BF16, {8, 7}, {8, 23}, 4, 2, 4},
    {"m16n8k16 f16", SIM_M16N8K16_F16, {5, 10}, {8, 23}, 4, 2, 4},
    {"m16n8k8 tf32", SIM_M16N8K8_TF32, {8, 23}, {8, 23}, 4, 2, 4},
    {"m8n8k4 f64", SIM_M8N8K4_F64, {11, 52}, {11, 52}, 2, 2, 4},
    {"m16n8k4 f64", SIM_M16N8K4_F64, {11, 52}, {11, 52}, 4, 2, 8},
    {"m16n8k8 f64", SIM_M16N8K8_F64, {11, 52}, {11, 52}, 8, 4, 8},
    {"m16n8k16 f64", SIM_M16N8K16_F64, {11, 52}, {11, 52}, 16, 8, 8},
};

static bool is_f64(const instruction *in) {
    return in->accumulator.fraction_bits == 52;
}

enum oddity { NOTHING_ODD, POSITIVE, CANCELLING, ZEROS, SUBNORMALS, SPECIALS };

/* Exponents of the numbers that are drawn, as far as the format has them. Every second number of
 * the classes ZEROS and SUBNORMALS, and one in 64 of SPECIALS, is what the class is called. */
struct tile_class {
    const char *name;
    oddity odd;
    int a[2], b[2], c[2];
};

static const tile_class classes[] = {
    {"spread", NOTHING_ODD, {-6, 6}, {-6, 6}, {-12, 12}},
    {"positive", POSITIVE, {-6, 6}, {-6, 6}, {-12, 12}},
    {"cancelling", CANCELLING, {-6, 6}, {-6, 6}, {-24, 0}},
    {"wide", NOTHING_ODD, {-60, 60}, {-60, 60}, {-120, 120}},
    {"zeros", ZEROS, {-6, 6}, {-6, 6}, {-12, 12}},
    {"subnormal operands", SUBNORMALS, {-126, -120}, {100, 110}, {-30, -12}},
    {"subnormal results", SUBNORMALS, {-75, -60}, {-75, -60}, {-126, -120}},
    {"overflow", NOTHING_ODD, {61, 63}, {61, 63}, {120, 127}},
    {"infinity and NaN", SPECIALS, {-6, 6}, {-6, 6}, {-12, 12}},
};
/* The same of f64, whose exponents end elsewhere. */
static const tile_class classes_f64[] = {
    {"spread", NOTHING_ODD, {-6, 6}, {-6, 6}, {-12, 12}},
    {"positive", POSITIVE, {-6, 6}, {-6, 6}, {-12, 12}},
    {"cancelling", CANCELLING, {-6, 6}, {-6, 6}, {-60, 0}},
    {"wide", NOTHING_ODD, {-500, 500}, {-500, 500}, {-1000, 1000}},
    {"zeros", ZEROS, {-6, 6}, {-6, 6}, {-12, 12}},
    {"subnormal operands", SUBNORMALS, {-1022, -1000}, {900, 1000}, {-120, -20}},
    {"subnormal results", SUBNORMALS, {-560, -490}, {-560, -490}, {-1022, -990}},
    {"overflow", NOTHING_ODD, {505, 511}, {505, 511}, {1010, 1023}},
    {"infinity and NaN", SPECIALS, {-6, 6}, {-6, 6}, {-12, 12}},
};
enum { CLASSES = sizeof classes / sizeof classes[0] };
static_assert(CLASSES == sizeof classes_f64 / sizeof classes_f64[0], "the same classes");

static uint64_t draw_number(format f, oddity odd, const int exponents[2]) {
    const int64_t bias = (1 << (f.exponent_bits - 1)) - 1;
    int64_t field = bias + draw_between(exponents[0], exponents[1]);
    field = field < 1 ? 1 : field > 2 * bias ? 2 * bias : field;
    uint64_t fraction = draw() & (((uint64_t)1 << f.fraction_bits) - 1);
    const uint64_t negative = odd == POSITIVE ? 0 : draw() & 1;
    const uint64_t chance = draw() % 64;
    if (odd == ZEROS && chance < 32)
        field = 0, fraction = 0;
    if (odd == SUBNORMALS && chance < 32)
        field = 0;
    if (odd == SPECIALS && chance == 0) {
        field = 2 * bias + 1;
        fraction = draw() % 2 << (f.fraction_bits - 1);
    }
    return negative << (f.exponent_bits + f.fraction_bits) | (uint64_t)field << f.fraction_bits |
           fraction;
}

/* Registers are filled with as many numbers as they hold. */
static void draw_registers(uint32_t *registers, int count, format f, oddity odd,
                           const int exponents[2]) {
    const int bits = 1 + f.exponent_bits + f.fraction_bits;
    for (int i = 0; i < count; ++i) {
        const uint64_t number = draw_number(f, odd, exponents);
        registers[i] = (uint32_t)number;
        if (bits == 16)
            registers[i] |= (uint32_t)draw_number(f, odd, exponents) << 16;
        else if (bits == 64)
            registers[++i] = (uint32_t)(number >> 32);
    }
}

/* The second half of the products becomes nearly the first one's negative: sign bits are flipped,
 * and the last bits drawn anew. */
static void cancel(const instruction *in, lane_registers *lane) {
    const bool halves = in->operand.exponent_bits + in->operand.fraction_bits == 15;
    lane->a[2] = lane->a[0];
    lane->a[3] = lane->a[1];
    lane->b[1] = lane->b[0] ^ (halves ? 0x80008000u : 0x80000000u);
    lane->b[1] ^= (uint32_t)draw() & (halves ? 0x00010001u : 0x00002000u);
}

/* In f64 every four k lie in four lanes: those of the last two become nearly the negatives. */
static void cancel_f64(const instruction *in, lane_registers lanes[LANES]) {
    for (int i = 0; i < LANES; ++i)
        if (i % 4 >= 2) {
            memcpy(lanes[i].a, lanes[i - 2].a, sizeof lanes[i].a);
            memcpy(lanes[i].b, lanes[i - 2].b, sizeof lanes[i].b);
            for (int e = 0; e < in->b; e += 2) {
                lanes[i].b[e] ^= (uint32_t)draw() & 1u;
                lanes[i].b[e + 1] ^= 0x80000000u;
            }
        }
}

static void draw_tile(const instruction *in, const tile_class *kind, lane_registers *lane) {
    const bool cancels = kind->odd == CANCELLING;
    for (int i = 0; i < LANES; ++i) {
        draw_registers(lane[i].a, in->a, in->operand, kind->odd, kind->a);
        draw_registers(lane[i].b, in->b, in->operand, kind->odd, kind->b);
        draw_registers(lane[i].c, in->c, in->accumulator, kind->odd, kind->c);
        if (cancels && !is_f64(in))
            cancel(in, &lane[i]);
    }
    if (cancels && is_f64(in))
        cancel_f64(in, lane);
}

static void model(const instruction *in, lane_registers *lane) {
    sim_fragments fragments[LANES];
    for (int i = 0; i < LANES; ++i)
        fragments[i] = {lane[i].a, lane[i].b, lane[i].c};
    sim_mma_compute(in->shape, fragments);
}

static void print_difference(const instruction *in, int element, const uint32_t *got,
                             const uint32_t *want, const uint32_t *before) {
    if (is_f64(in))
        printf("    first: c[%d] %08x%08x: GPU %08x%08x, model %08x%08x\n", element, before[1],
               before[0], got[1], got[0], want[1], want[0]);
    else
        printf("    first: c[%d] %08x: GPU %08x, model %08x\n", element, *before, *got, *want);
}

struct tally {
    int64_t tiles, elements, different_tiles, different, nans;
};

static bool are_nans(const instruction *in, const uint32_t *x, const uint32_t *y) {
    const int high = is_f64(in) ? 1 : 0;
    const uint32_t infinity = is_f64(in) ? 0x7ff00000u : 0x7f800000u;
    const auto is_nan = [&](const uint32_t *v) {
        const uint32_t size = v[high] & 0x7fffffffu;
        return size > infinity || (size == infinity && high == 1 && v[0] != 0);
    };
    return is_nan(x) && is_nan(y);
}

/* Whether the lane's elements are alike, but for NaNs. */
static bool compare_lane(const instruction *in, const lane_registers &before,
                         const lane_registers &got, const lane_registers &want, tally *sum) {
    const int words = is_f64(in) ? 2 : 1;
    const int64_t different = sum->different;
    for (int e = 0; e < in->c; e += words) {
        ++sum->elements;
        if (memcmp(&got.c[e], &want.c[e], words * sizeof(uint32_t)) == 0)
            continue;
        if (is_f64(in) && are_nans(in, &got.c[e], &want.c[e]))
            ++sum->nans;
        else if (sum->different++ == 0)
            print_difference(in, e / words, &got.c[e], &want.c[e], &before.c[e]);
    }
    return sum->different == different;
}

static void compare(const instruction *in, const std::vector<lane_registers> &before,
                    const std::vector<lane_registers> &got, const std::vector<lane_registers> &want,
                    tally *sum) {
    for (size_t tile = 0; tile < got.size(); tile += LANES) {
        bool alike = true;
        for (size_t i = tile; i < tile + LANES; ++i)
            alike = compare_lane(in, before[i], got[i], want[i], sum) && alike;
        ++sum->tiles;
        sum->different_tiles += !alike;
    }
}

static tally run_class(const instruction *in, const tile_class *kind, int64_t tiles,
                       lane_registers *device) {
    tally sum = {};
    std::vector<lane_registers> before(BATCH * LANES), got(BATCH * LANES), want;
    const size_t bytes = before.size() * sizeof before[0];
    for (int64_t done = 0; done < tiles; done += BATCH) {
        for (int i = 0; i < BATCH; ++i)
            draw_tile(in, kind, &before[i * LANES]);
        must(cudaMemcpy(device, before.data(), bytes, cudaMemcpyHostToDevice), "copy");
        multiply<<<BATCH, LANES>>>(in->shape, device);
        must(cudaGetLastError(), "launch");
        want = before;
        for (int i = 0; i < BATCH; ++i)
            model(in, &want[i * LANES]);
        must(cudaMemcpy(got.data(), device, bytes, cudaMemcpyDeviceToHost), "copy back");
        compare(in, before, got, want, &sum);
    }
    return sum;
}

int main(int argc, char **argv) {
    const int64_t tiles = argc > 1 ? atoll(argv[1]) : 1000000;
    const char *const part = argc > 2 ? argv[2] : "";
    bool differs = false;
    lane_registers *device = nullptr;
    must(cudaMalloc(&device, BATCH * LANES * sizeof *device), "allocation");
    for (const instruction &in : instructions)
        for (int i = 0; i < CLASSES && strstr(in.name, part) != NULL; ++i) {
            const tile_class *kind = is_f64(&in) ? &classes_f64[i] : &classes[i];
            const tally sum = run_class(&in, kind, (tiles + CLASSES - 1) / CLASSES, device);
            printf("%-14s %-20s %9lld tiles, %lld differ; %11lld elements, %lld differ, %lld NaNs "
                   "of other bits\n",
                   in.name, kind->name, (long long)sum.tiles, (long long)sum.different_tiles,
                   (long long)sum.elements, (long long)sum.different, (long long)sum.nans);
            differs = differs || sum.different > 0;
        }
    must(cudaFree(device), "release");
    return differs ? 1 : 0;
}
