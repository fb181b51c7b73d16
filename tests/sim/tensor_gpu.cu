/*
 * Holds the model of the matrix instructions (sim/mma.c) against a GPU, bit for bit, on
 * random tiles. A program to run by hand when the model or the GPU is new:
 *
 *     nvcc -O2 -std=c++20 -arch=sm_90a -fmad=false -I. -Iinclude tests/sim/tensor_gpu.cu \
 *         sim/mma.c sim/mma_sum.c -o tensor_gpu && ./tensor_gpu [tiles per instruction]
 *
 * Prints, for each instruction and class of tiles, how many elements differ, and the first of them.
 * Exit code 1 when one differs in any class but that of NaNs, 2 when the GPU fails.
 */
#include "kernels/common/tensor.h"
#include "sim/mma.h"

#include <stdio.h>
#include <stdlib.h>

#include <vector>

enum { LANES = 32, BATCH = 4096, REGISTERS_A = 4, REGISTERS_B = 2, REGISTERS_C = 4 };

/* One lane's registers, for all shapes: a 64-bit operand takes two of them. */
struct lane_registers {
    uint32_t a[REGISTERS_A], b[REGISTERS_B], c[REGISTERS_C];
};

static __global__ void multiply(sim_mma_shape shape, lane_registers *lanes) {
    lane_registers *own = &lanes[(int64_t)blockIdx.x * LANES + threadIdx.x];
    float c[4];
    double a64, b64, c64[2];
    if (shape == SIM_M8N8K4_F64) {
        memcpy(&a64, own->a, sizeof a64);
        memcpy(&b64, own->b, sizeof b64);
        memcpy(c64, own->c, sizeof c64);
        mma_m8n8k4_f64(c64, a64, b64);
        memcpy(own->c, c64, sizeof c64);
        return;
    }
    memcpy(c, own->c, sizeof c);
    if (shape == SIM_M16N8K16_BF16)
        mma_m16n8k16_bf16(c, own->a, own->b);
    else if (shape == SIM_M16N8K16_F16)
        mma_m16n8k16_f16(c, own->a, own->b);
    else
        mma_m16n8k8_tf32(c, own->a, own->b);
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
};

static const instruction instructions[] = {
    {"m16n8k16 bf16", SIM_M16N8K16_BF16, {8, 7}, {8, 23}},
    {"m16n8k16 f16", SIM_M16N8K16_F16, {5, 10}, {8, 23}},
    {"m16n8k8 tf32", SIM_M16N8K8_TF32, {8, 23}, {8, 23}},
    {"m8n8k4 f64", SIM_M8N8K4_F64, {11, 52}, {11, 52}},
};

enum oddity { NOTHING_ODD, POSITIVE, CANCELLING, ZEROS, SUBNORMALS, SPECIALS };

/* Exponents of the numbers that are drawn, as far as the format has them. Every second number of
 * the classes ZEROS and SUBNORMALS, and one in 64 of SPECIALS, is what the class is called. */
struct tile_class {
    const char *name;
    bool gates; /* not the last: the bits of an f64 NaN are the host's */
    oddity odd;
    int a[2], b[2], c[2];
};

static const tile_class classes[] = {
    {"spread", true, NOTHING_ODD, {-6, 6}, {-6, 6}, {-12, 12}},
    {"positive", true, POSITIVE, {-6, 6}, {-6, 6}, {-12, 12}},
    {"cancelling", true, CANCELLING, {-6, 6}, {-6, 6}, {-24, 0}},
    {"wide", true, NOTHING_ODD, {-60, 60}, {-60, 60}, {-120, 120}},
    {"zeros", true, ZEROS, {-6, 6}, {-6, 6}, {-12, 12}},
    {"subnormal operands", true, SUBNORMALS, {-126, -120}, {100, 110}, {-30, -12}},
    {"subnormal results", true, SUBNORMALS, {-75, -60}, {-75, -60}, {-126, -120}},
    {"overflow", true, NOTHING_ODD, {61, 63}, {61, 63}, {120, 127}},
    {"infinity and NaN", false, SPECIALS, {-6, 6}, {-6, 6}, {-12, 12}},
};
enum { CLASSES = sizeof classes / sizeof classes[0] };

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
    if (in->shape == SIM_M8N8K4_F64)
        return;
    const bool halves = in->operand.exponent_bits + in->operand.fraction_bits == 15;
    lane->a[2] = lane->a[0];
    lane->a[3] = lane->a[1];
    lane->b[1] = lane->b[0] ^ (halves ? 0x80008000u : 0x80000000u);
    lane->b[1] ^= (uint32_t)draw() & (halves ? 0x00010001u : 0x00002000u);
}

static void draw_tile(const instruction *in, const tile_class *kind, lane_registers *lane) {
    for (int i = 0; i < LANES; ++i, ++lane) {
        draw_registers(lane->a, REGISTERS_A, in->operand, kind->odd, kind->a);
        draw_registers(lane->b, REGISTERS_B, in->operand, kind->odd, kind->b);
        draw_registers(lane->c, REGISTERS_C, in->accumulator, kind->odd, kind->c);
        if (kind->odd == CANCELLING)
            cancel(in, lane);
    }
}

static void model(const instruction *in, lane_registers *lane) {
    sim_fragments fragments[LANES];
    for (int i = 0; i < LANES; ++i)
        fragments[i] = {lane[i].a, lane[i].b, lane[i].c};
    sim_mma_compute(in->shape, fragments);
}

static void print_difference(const instruction *in, int element, const uint32_t *got,
                             const uint32_t *want, const uint32_t *before) {
    if (in->shape == SIM_M8N8K4_F64)
        printf("    first: c[%d] %08x%08x: GPU %08x%08x, model %08x%08x\n", element, before[1],
               before[0], got[1], got[0], want[1], want[0]);
    else
        printf("    first: c[%d] %08x: GPU %08x, model %08x\n", element, *before, *got, *want);
}

struct tally {
    int64_t elements, different;
};

static void compare(const instruction *in, const std::vector<lane_registers> &before,
                    const std::vector<lane_registers> &got, const std::vector<lane_registers> &want,
                    tally *sum) {
    const int words = in->shape == SIM_M8N8K4_F64 ? 2 : 1;
    for (size_t i = 0; i < got.size(); ++i)
        for (int e = 0; e < REGISTERS_C; e += words) {
            ++sum->elements;
            if (memcmp(&got[i].c[e], &want[i].c[e], words * sizeof(uint32_t)) == 0)
                continue;
            if (sum->different++ == 0)
                print_difference(in, e / words, &got[i].c[e], &want[i].c[e], &before[i].c[e]);
        }
}

static tally run_class(const instruction *in, const tile_class *kind, int64_t tiles,
                       lane_registers *device) {
    tally sum = {0, 0};
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
    bool differs = false;
    lane_registers *device = nullptr;
    must(cudaMalloc(&device, BATCH * LANES * sizeof *device), "allocation");
    for (const instruction &in : instructions)
        for (const tile_class &kind : classes) {
            const tally sum = run_class(&in, &kind, (tiles + CLASSES - 1) / CLASSES, device);
            printf("%-14s %-20s %11lld elements, %lld differ%s\n", in.name, kind.name,
                   (long long)sum.elements, (long long)sum.different,
                   kind.gates ? "" : " (not judged)");
            differs = differs || (kind.gates && sum.different > 0);
        }
    must(cudaFree(device), "release");
    return differs ? 1 : 0;
}
