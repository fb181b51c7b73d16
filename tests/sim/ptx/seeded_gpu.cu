/*
 * One kernel with a seeded defect (seeded.def, hopper.def), or its right twin, on a GPU: a program
 * for compute-sanitizer to look at. seeded_gpu.sh builds it from seeded.cu, and from hopper.cu with
 * -DOF_HOPPER.
 *   seeded_gpu                      prints the kernels' names
 *   seeded_gpu NAME wrong|right     runs one; exit code 1 when CUDA reports an error
 */
#ifdef OF_HOPPER
#include "hopper.cu"
#else
#include "seeded.cu"
#endif

#undef SEEDED

#include <stdio.h>
#include <string.h>

enum { INTS = 4096 };

typedef struct seed {
    const char *name;
    int blocks, threads;
    bool pair; /* in the kernel of clusters */
} seed;

#define ONE(name, blocks, threads, found)  {#name, blocks, threads, false},
#define PAIR(name, blocks, threads, found) {#name, blocks, threads, true},
#define SEEDED                             ONE
#define SEEDED_IN                          ONE
#define SEEDED_MMA                         ONE
#define SEEDED_MMA_IN                      ONE
#define SEEDED_PAIR                        PAIR
#define SEEDED_PAIR_IN                     PAIR

static const seed seeds[] = {
#ifdef OF_HOPPER
#include "hopper.def"
#else
#include "seeded.def"
#endif
};

enum { SEEDS = sizeof seeds / sizeof seeds[0] };

static void launch(const seed *s, int number, bool right, int *out, int *in) {
#ifdef OF_HOPPER
    if (s->pair)
        hopper_pair<<<s->blocks, s->threads>>>(number, right, out, in);
    else
        hopper<<<s->blocks, s->threads>>>(number, right, out, in);
#else
    (void)in;
    seeded<<<s->blocks, s->threads>>>(number, right, out);
#endif
}

static void run(int which, bool right) {
    int number = 0, *memory;
    for (int i = 0; i < which; ++i)
        number += seeds[i].pair == seeds[which].pair;
    cudaMalloc(&memory, 2 * INTS * sizeof *memory);
    cudaMemset(memory, 0, 2 * INTS * sizeof *memory);
    launch(&seeds[which], number, right, memory, memory + INTS);
    cudaDeviceSynchronize();
    cudaFree(memory);
}

int main(int n, char **words) {
    for (int i = 0; i < SEEDS; ++i)
        if (n == 1)
            puts(seeds[i].name);
        else if (n == 3 && strcmp(words[1], seeds[i].name) == 0)
            run(i, strcmp(words[2], "right") == 0);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        fprintf(stderr, "%s\n", cudaGetErrorName(error));
    return error != cudaSuccess;
}
