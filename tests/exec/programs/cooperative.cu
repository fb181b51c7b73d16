/* Cooperative launches: as many blocks as the device holds, and one more; a grid that waits for all
 * of its blocks. `once`: too seldom; `plain`: in a launch that is not cooperative. */
#include "check.h"

#include <cstring>

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void put(int *x) {
    x[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}

/* Each block leaves what it adds up, and takes it from the block behind it: twice, in one place. */
__global__ void hand_on(int *sums, int *out, bool waits) {
    const cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < 2; ++round) {
        if (threadIdx.x == 0)
            sums[blockIdx.x] = (int)blockIdx.x * 10 + round;
        grid.sync();
        if (threadIdx.x == 0)
            out[gridDim.x * round + blockIdx.x] = sums[(blockIdx.x + 1) % gridDim.x];
        if (waits)
            grid.sync();
    }
}

static void launch(int *sums, int *out, int blocks, bool waits) {
    void *words[] = {&sums, &out, &waits};
    CUDA(cudaLaunchCooperativeKernel((void *)hand_on, dim3(blocks), dim3(64), words, 0, 0));
    CUDA(cudaDeviceSynchronize());
}

static void launch_by_attribute(int *sums, int *out, int blocks) {
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaLaunchKernelEx(&config, hand_on, sums, out, true));
    CUDA(cudaDeviceSynchronize());
}

static void check(int *out, int blocks) {
    for (int i = 0; i < 2 * blocks; ++i)
        EXPECT(out[i] == (i + 1) % blocks * 10 + i / blocks);
    CUDA(cudaMemset(out, 0, 2 * blocks * sizeof *out));
}

/* Blocks without the right to wait for each other have no word to wait at. */
static void launch_plainly(int *sums, int *out) {
    hand_on<<<2, 64>>>(sums, out, true);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

static void wait_for_each_other(int blocks, bool waits) {
    int *sums, *out;
    CUDA(cudaMallocManaged(&sums, blocks * sizeof *sums));
    CUDA(cudaMallocManaged(&out, 2 * blocks * sizeof *out));
    launch(sums, out, blocks, waits);
    if (waits) {
        check(out, blocks);
        launch_by_attribute(sums, out, blocks);
        check(out, blocks);
    }
    CUDA(cudaFree(sums));
    CUDA(cudaFree(out));
}

static void fill(int blocks) {
    int *x;
    CUDA(cudaMallocManaged(&x, blocks * 128 * sizeof *x));
    void *words[] = {&x};
    CUDA(cudaLaunchCooperativeKernel((void *)put, dim3(blocks), dim3(128), words, 0, 0));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < blocks * 128; ++i)
        EXPECT(x[i] == i / 128);
    EXPECT(cudaLaunchCooperativeKernel((void *)put, dim3(blocks + 1), dim3(128), words, 0, 0) ==
           cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    CUDA(cudaFree(x));
}

int main(int argc, char **argv) {
    int per = 0, can = 0;
    cudaDeviceProp about;
    CUDA(cudaGetDeviceProperties(&about, 0));
    CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(can == 1 && about.cooperativeLaunch == 1);
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, put, 128, 0));
    EXPECT(per > 0);
    if (argc > 1 && strcmp(argv[1], "plain") == 0) {
        launch_plainly(NULL, NULL);
    } else {
        wait_for_each_other(24, argc == 1);
        fill(per * about.multiProcessorCount);
    }
    puts("ok");
}
