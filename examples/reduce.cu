// A program with a race, for assay exec: README.md.
#include <cstdio>

__global__ void reduce(const float *x, float *y, int n) {
    __shared__ float part[256];
    const int t = (int)threadIdx.x;
    part[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2)
        if (t < s)
            part[t] += part[t + s]; // no __syncthreads() behind it
    if (t == 0)
        *y = part[0];
}

int main() {
    float ones[256], *x, *y, sum;
    for (float &one : ones)
        one = 1;
    cudaMalloc(&x, sizeof ones);
    cudaMalloc(&y, sizeof sum);
    cudaMemcpy(x, ones, sizeof ones, cudaMemcpyHostToDevice);
    reduce<<<1, 256>>>(x, y, 256);
    cudaMemcpy(&sum, y, sizeof sum, cudaMemcpyDeviceToHost);
    printf("the sum of 256 ones: %g\n", sum);
    cudaFree(x);
    cudaFree(y);
}
