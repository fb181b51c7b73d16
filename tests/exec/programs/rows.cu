/* Pitched memory, rectangles and boxes. */
#include "check.h"

__global__ void number(char *memory, size_t pitch, int rows, int columns) {
    const int y = blockIdx.x, x = threadIdx.x;
    if (y < rows && x < columns)
        ((int *)(memory + y * pitch))[x] = 100 * y + x;
}

int main() {
    enum { ROWS = 5, COLUMNS = 7 };
    static int host[ROWS][COLUMNS];
    char *memory;
    size_t pitch;
    CUDA(cudaMallocPitch((void **)&memory, &pitch, COLUMNS * sizeof(int), ROWS));
    EXPECT(pitch >= COLUMNS * sizeof(int) && pitch % 256 == 0);
    number<<<ROWS, 32>>>(memory, pitch, ROWS, COLUMNS);
    CUDA(cudaMemcpy2D(host, sizeof host[0], memory, pitch, sizeof host[0], ROWS,
                      cudaMemcpyDeviceToHost));
    for (int y = 0; y < ROWS; ++y)
        for (int x = 0; x < COLUMNS; ++x)
            EXPECT(host[y][x] == 100 * y + x);
    CUDA(cudaMemset2D(memory, pitch, 0, 8, ROWS));
    CUDA(cudaMemcpy2D(host, sizeof host[0], memory, pitch, sizeof host[0], ROWS,
                      cudaMemcpyDeviceToHost));
    EXPECT(host[3][1] == 0 && host[3][2] == 302);
    EXPECT(cudaMemcpy2D(host, 8, memory, pitch, 28, ROWS, cudaMemcpyDeviceToHost) ==
           cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();

    cudaExtent size = make_cudaExtent(16, 3, 2);
    cudaPitchedPtr box;
    char cube[2][3][16];
    CUDA(cudaMalloc3D(&box, size));
    CUDA(cudaMemset3D(box, 9, size));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = box;
    copy.srcPos = make_cudaPos(4, 1, 1);
    copy.dstPtr = make_cudaPitchedPtr(cube, 16, 16, 3);
    copy.extent = make_cudaExtent(8, 2, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    EXPECT(cube[0][0][0] == 9 && cube[0][1][7] == 9);
    CUDA(cudaFree(memory));
    CUDA(cudaFree(box.ptr));
    puts("ok");
}
