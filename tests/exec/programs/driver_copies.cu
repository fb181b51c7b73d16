/* The driver's copies and fills of rows and planes, between contexts, and its hints. */
#include "check.h"

#include <cstring>

#include <cuda.h>

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

enum { WIDTH = 20, ROWS = 6, PLANES = 3 };

static CUDA_MEMCPY2D rows_between(const void *from, size_t from_pitch, void *to, size_t to_pitch) {
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    c.srcDevice = (CUdeviceptr)from;
    c.srcPitch = from_pitch;
    c.dstDevice = (CUdeviceptr)to;
    c.dstPitch = to_pitch;
    c.WidthInBytes = WIDTH;
    c.Height = ROWS;
    return c;
}

static void rows(CUdeviceptr memory, size_t pitch) {
    unsigned char host[ROWS][WIDTH], got[ROWS][WIDTH + 4];
    for (int i = 0; i < ROWS * WIDTH; ++i)
        host[i / WIDTH][i % WIDTH] = (unsigned char)i;
    CUDA_MEMCPY2D c = rows_between(NULL, 0, NULL, pitch);
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host; /* no pitch: rows without gaps */
    c.dstDevice = memory;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    DRIVER(cuMemcpy2D(&c));
    memset(got, 99, sizeof got);
    c = rows_between((void *)memory, pitch, got, sizeof got[0]);
    c.srcXInBytes = 2; /* a part: from column 2 and row 1 to column 4 and row 3 */
    c.srcY = 1;
    c.dstXInBytes = 4;
    c.dstY = 3;
    c.WidthInBytes = 16;
    c.Height = 2;
    DRIVER(cuMemcpy2DUnaligned(&c));
    EXPECT(got[3][3] == 99 && got[3][4] == host[1][2] && got[4][19] == host[2][17]);
    EXPECT(got[4][20] == 99 && got[2][4] == 99 && got[5][4] == 99);
    c.srcPitch = 17; /* less than 2 + 16 */
    EXPECT(cuMemcpy2D(&c) == CUDA_ERROR_INVALID_VALUE);
    c = rows_between((void *)memory, pitch, got, sizeof got[0]);
    DRIVER(cuMemcpy2DAsync(&c, NULL));
    DRIVER(cuStreamSynchronize(NULL));
    EXPECT(memcmp(got[5], host[5], WIDTH) == 0);
}

static void planes(CUdeviceptr memory, size_t pitch) {
    static int host[PLANES][ROWS][WIDTH / 4], got[PLANES][ROWS][WIDTH / 4];
    CUcontext context;
    for (int i = 0; i < PLANES * ROWS * WIDTH / 4; ++i)
        ((int *)host)[i] = 1000 + i;
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = memory;
    c.dstPitch = pitch;
    c.WidthInBytes = WIDTH;
    c.Height = ROWS;
    c.Depth = PLANES;
    DRIVER(cuMemcpy3D(&c));
    CUDA_MEMCPY3D_PEER p = {};
    DRIVER(cuCtxGetCurrent(&context));
    p.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = memory;
    p.srcPitch = pitch;
    p.srcHeight = ROWS;
    p.srcZ = 1;
    p.dstMemoryType = CU_MEMORYTYPE_HOST;
    p.dstHost = got;
    p.WidthInBytes = WIDTH;
    p.Height = ROWS;
    p.Depth = 2;
    DRIVER(cuMemcpy3DPeer(&p)); /* in the current context */
    EXPECT(memcmp(got, host[1], 2 * sizeof host[0]) == 0);
    memset(got, 0, sizeof got);
    p.srcContext = p.dstContext = context;
    DRIVER(cuMemcpy3DPeer(&p));
    EXPECT(memcmp(got, host[1], 2 * sizeof host[0]) == 0 && got[2][0][0] == 0);
    c.srcHeight = ROWS - 1; /* fewer rows than are copied */
    EXPECT(cuMemcpy3DAsync(&c, NULL) == CUDA_ERROR_INVALID_VALUE);
}

static void fills(CUdeviceptr memory, size_t pitch) {
    unsigned char got[3 * 512];
    EXPECT(3 * pitch <= sizeof got);
    DRIVER(cuMemsetD8(memory, 1, 3 * pitch));
    DRIVER(cuMemsetD2D8(memory, pitch, 7, 5, 2));
    DRIVER(cuMemsetD2D16(memory + 8, pitch, 0x0203, 2, 3));
    DRIVER(cuMemsetD2D32Async(memory + 16, pitch, 0x04050607, 3, 1, NULL));
    EXPECT(cuMemsetD2D32(memory + 2, pitch, 0, 1, 1) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemcpyDtoH(got, memory, 3 * pitch));
    EXPECT(got[4] == 7 && got[5] == 1 && got[pitch + 4] == 7 && got[2 * pitch] == 1);
    EXPECT(got[2 * pitch + 8] == 3 && got[2 * pitch + 11] == 2 && got[2 * pitch + 12] == 1);
    EXPECT(got[16] == 7 && got[27] == 4 && got[28] == 1 && got[pitch + 16] == 1);
}

int main() {
    CUdeviceptr memory, other, managed;
    CUcontext context;
    size_t pitch;
    unsigned flags = 0;
    int *pinned, value = 5;
    const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUDA(cudaFree(0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuMemAllocPitch(&memory, &pitch, WIDTH, ROWS * PLANES, 4));
    rows(memory, pitch);
    planes(memory, pitch);
    fills(memory, pitch);

    DRIVER(cuMemAlloc(&other, 64));
    DRIVER(cuMemsetD32(other, 77, 16));
    DRIVER(cuMemcpyPeer(memory, context, other, context, 64));
    DRIVER(cuMemcpyDtoH(&value, memory + 60, sizeof value));
    EXPECT(value == 77);
    DRIVER(cuMemsetD32(other, 78, 16));
    DRIVER(cuMemcpyPeerAsync(memory, NULL, other, context, 64, NULL));
    DRIVER(cuMemcpyDtoH(&value, memory + 60, sizeof value));
    EXPECT(value == 78);

    DRIVER(cuMemAllocHost((void **)&pinned, 64));
    DRIVER(cuMemHostGetFlags(&flags, pinned));
    EXPECT((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0);
    EXPECT(cuMemHostGetFlags(&flags, &value) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
#if CUDA_VERSION >= 13000
    DRIVER(cuMemPrefetchAsync(managed, 64, device, 0, NULL));
    DRIVER(cuMemAdvise(managed, 64, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    EXPECT(cuMemPrefetchAsync(memory, 64, device, 0, NULL) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAdvise(managed, 65, CU_MEM_ADVISE_SET_READ_MOSTLY, device) ==
           CUDA_ERROR_INVALID_VALUE);
#else
    DRIVER(cuMemPrefetchAsync(managed, 64, device.id, NULL));
    DRIVER(cuMemAdvise(managed, 64, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device.id));
#endif
    DRIVER(cuMemFreeHost(pinned));
    for (CUdeviceptr p : {memory, other, managed})
        DRIVER(cuMemFree(p));
    puts("ok");
}
