/* Vectors are added. */
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main() {
    enum { N = 1000 };
    static float a[N], b[N], c[N];
    float *da, *db, *dc;
    for (int i = 0; i < N; ++i) {
        a[i] = (float)i;
        b[i] = 2.0f * i;
    }
    CUDA(cudaMalloc(&da, sizeof a));
    CUDA(cudaMalloc(&db, sizeof b));
    CUDA(cudaMalloc(&dc, sizeof c));
    CUDA(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    add<<<(N + 255) / 256, 256>>>(da, db, dc, N);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; ++i)
        EXPECT(c[i] == 3.0f * i);
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
    puts("ok");
}
