/*
 * A program of its own: makes the copies of tma.h on a GPU, by the driver alone, and prints the
 * lines of tma.def: hashes of what each copy left.
 *   cc -I. -Iinclude tests/sim/ptx/tma.c tests/sim/ptx/tma_gpu.c -ldl -o tma_gpu
 */
#include "tests/sim/driver_call.h"
#include "tests/sim/ptx/tma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char shared[TMA_SHARED], memory[TMA_MEMORY];
static uint64_t image, out, base, maps;

static uint64_t run(uint32_t rank, uint32_t swizzle, tma_mode mode, int32_t i) {
    const tma_case c = tma_draw(rank, swizzle, mode, i);
    const ptx_tensor *t = &c.tensor;
    tma_parameters p = {.image = image, .out = out, .map = maps, .bytes = tma_bytes(&c)};
    char map[PTX_TENSOR_MAP_BYTES] __attribute__((aligned(64)));
    uint32_t ones[] = {1, 1, 1, 1, 1};
    void *module, *kernel;
    void *parameters[] = {&p.image,    &p.out,      &p.map,      &p.start[0], &p.start[1],
                          &p.start[2], &p.start[3], &p.start[4], &p.bytes};
    memcpy(p.start, c.start, sizeof p.start);
    tma_fill(shared, memory);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), image, shared, sizeof shared);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), base, memory, sizeof memory);
    CALL(cuTensorMapEncodeTiled,
         (void *, int, uint32_t, uint64_t, const uint64_t *, const uint64_t *, const uint32_t *,
          const uint32_t *, int, int, int, int),
         map, (int)t->type, rank, base, t->size, t->stride + 1, t->box, ones, 0, (int)swizzle, 0,
         0);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), maps, map, sizeof map);
    CALL(cuModuleLoadData, (void **, const void *), &module, tma_kernel(rank, mode));
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, "k");
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         kernel, 1, 1, 1, TMA_THREADS, 1, 1, 0, NULL, parameters, NULL);
    CALL(cuCtxSynchronize, (void), );
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), shared, out, sizeof shared);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), memory, base, sizeof memory);
    CALL(cuModuleUnload, (void *), module);
    return tma_hash(0, shared, memory);
}

static void begin(void) {
    void *context;
    int device;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL) {
        fprintf(stderr, "tma_gpu: no driver\n");
        exit(1);
    }
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &image, sizeof shared);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &out, sizeof shared);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &base, sizeof memory);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &maps, PTX_TENSOR_MAP_BYTES);
}

/* A copy that the GPU refuses takes its process along: each group has one, which another one
 * follows behind that case. `each`, shared, is 0 for those. */
static void run_group(uint32_t rank, uint32_t swizzle, tma_mode mode, uint64_t *each) {
    for (int32_t next = 0; next < TMA_CASES;) {
        each[TMA_CASES] = (uint64_t)next;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            begin();
            for (int32_t i = next; i < TMA_CASES; ++i) {
                each[TMA_CASES] = (uint64_t)i;
                each[i] = run(rank, swizzle, mode, i);
            }
            each[TMA_CASES] = TMA_CASES;
            exit(0);
        }
        (void)waitpid(child, NULL, 0);
        next = (int32_t)each[TMA_CASES] + 1;
    }
}

int main(int count, char **arguments) {
    static const char *const modes[] = {"TMA_LOAD", "TMA_STORE", "TMA_ADD"};
    const int only = count > 1 ? atoi(arguments[1]) : -1; /* a mode */
    uint64_t *each = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int mode = 0; mode < TMA_MODES; ++mode)
        for (uint32_t rank = 1; rank <= PTX_TENSOR_RANK && (only < 0 || only == mode); ++rank)
            for (uint32_t swizzle = 0; swizzle < TMA_SWIZZLES; ++swizzle) {
                memset(each, 0, 4096);
                run_group(rank, swizzle, (tma_mode)mode, each);
                printf("TMA(%s, %u, %u", modes[mode], rank, swizzle);
                for (int32_t i = 0; i < TMA_CASES; ++i)
                    printf(", 0x%016llx", (unsigned long long)each[i]);
                printf(")\n");
            }
    return 0;
}
