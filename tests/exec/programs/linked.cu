/* Device code of two objects (-rdc=true): linked_more.cu has what is declared here. */
#include "linked.h"

extern __device__ int twice(int x);
extern __device__ int table[4];
extern __constant__ int factor;
extern __device__ int (*chosen)(int);
static __device__ int own = 7;

__global__ void ask(int *out) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = either<2>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] =
        twice(shared[threadIdx.x]) * factor + table[threadIdx.x & 3] + own + chosen(threadIdx.x);
    if (threadIdx.x == 0)
        printf("one %d\n", own);
}

int main() {
    int *out, host[N];
    CUDA(cudaMalloc(&out, sizeof host));
    prepare();
    ask<<<1, N, sizeof host>>>(out);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; ++i)
        EXPECT(host[i] == 2 * (i + 2) * 10 + 100 * (i % 4 + 1) + 7 + 3 * i + 9);
    CUDA(cudaFree(out));
    puts("ok");
}
