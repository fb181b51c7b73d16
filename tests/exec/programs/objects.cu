/* Virtual functions, pointers to functions, and the device's heap, from one kernel to the next. */
#include "check.h"

#include <cstring>

struct shape {
    __device__ virtual ~shape() {
    }
    __device__ virtual float area() const = 0;
};
struct square : shape {
    float side;
    __device__ explicit square(float s) : side(s) {
    }
    __device__ float area() const override {
        return side * side;
    }
};
struct disc : shape {
    float radius;
    __device__ explicit disc(float r) : radius(r) {
    }
    __device__ float area() const override {
        return 3 * radius * radius;
    }
};

__global__ void make(shape **shapes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        shapes[i] = i % 2 ? static_cast<shape *>(new square(i)) : new disc(i);
}

__global__ void measure(shape *const *shapes, float *areas, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        areas[i] = shapes[i]->area();
}

__global__ void discard(shape **shapes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        delete shapes[i];
}

typedef int binary(int, int);
__device__ int sum(int a, int b) {
    return a + b;
}
__device__ int difference(int a, int b) {
    return a - b;
}
__device__ binary *const table[2] = {sum, difference};
__device__ binary *chosen = difference;

__global__ void apply(binary *f, int *results) {
    results[0] = f(7, 5);
    for (int i = 0; i < 2; ++i)
        results[1 + i] = table[i](20, 3);
}

__global__ void exhaust(int *results) {
    void *p = malloc(3 << 20);
    results[0] = p != nullptr;
    results[1] = malloc(2 << 20) == nullptr;
    free(p);
}

__global__ void misuse(int how, char **kept) {
    char *p = static_cast<char *>(malloc(100));
    kept[0] = p;
    if (how == 1)
        p[100] = 1;
    free(p);
    if (how == 2)
        p[0] = 1;
    if (how == 3)
        free(p);
    if (how == 4)
        free(p + 16);
}

__global__ void own() {
    __shared__ int *mine;
    if (threadIdx.x == 0)
        mine = static_cast<int *>(malloc(40));
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        mine[3] = threadIdx.x;
}

static void objects() {
    enum { N = 300 };
    shape **shapes;
    float *areas;
    CUDA(cudaMalloc(&shapes, N * sizeof *shapes));
    CUDA(cudaMallocManaged(&areas, N * sizeof *areas));
    for (int turn = 0; turn < 3; ++turn) { /* the heap is taken again */
        make<<<3, 128>>>(shapes, N);
        measure<<<3, 128>>>(shapes, areas, N);
        discard<<<3, 128>>>(shapes, N);
        CUDA(cudaDeviceSynchronize());
        for (int i = 0; i < N; ++i)
            EXPECT(areas[i] == (i % 2 ? 1.0f : 3.0f) * i * i);
    }
    CUDA(cudaFree(shapes));
    CUDA(cudaFree(areas));
}

static void functions() {
    binary *f;
    int *results;
    CUDA(cudaMallocManaged(&results, 3 * sizeof *results));
    CUDA(cudaMemcpyFromSymbol(&f, chosen, sizeof f));
    apply<<<1, 1>>>(f, results);
    CUDA(cudaDeviceSynchronize());
    EXPECT(results[0] == 2 && results[1] == 23 && results[2] == 17);
    CUDA(cudaFree(results));
}

/* Before the first kernel that uses malloc(), which fixes the heap's size. */
static void limits() {
    int *results;
    CUDA(cudaMallocManaged(&results, 2 * sizeof *results));
    size_t limit = 0;
    CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (4 << 20) + 1));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == (4 << 20) + (64 << 10)); /* in units of 64 KiB */
    CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 4 << 20); /* the least */
    exhaust<<<1, 1>>>(results);
    FAILS(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20), cudaErrorInvalidValue);
    CUDA(cudaDeviceSynchronize());
    EXPECT(results[0] && results[1]);
    CUDA(cudaFree(results));
}

int main(int argc, char **argv) {
    if (argc > 1) {
        char **kept;
        int *none = nullptr;
        CUDA(cudaMalloc(&kept, sizeof *kept));
        if (!strcmp(argv[1], "call"))
            apply<<<1, 1>>>(reinterpret_cast<binary *>(kept), none);
        else if (!strcmp(argv[1], "race"))
            own<<<1, 64>>>();
        else
            misuse<<<1, 1>>>(argv[1][0] - '0', kept);
        printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    limits();
    objects();
    functions();
    puts("ok");
}
