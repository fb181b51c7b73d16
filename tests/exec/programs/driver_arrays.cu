/* The driver's arrays, their copies of bytes, and its texture and surface objects. */
#include "check.h"

#include <cstring>
#include <cuda.h>

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

enum { N = 8 };

__global__ void read_floats(CUtexObject t, float *out) {
    out[threadIdx.x] = tex1D<float>(t, threadIdx.x + 0.5f);
}
__global__ void read_bytes(CUtexObject t, float4 *out) {
    out[threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void read_words(CUtexObject t, unsigned *out) {
    out[threadIdx.x] = tex1Dfetch<unsigned>(t, threadIdx.x);
}
__global__ void write_surface(CUsurfObject s) {
    surf2Dwrite((short)(100 + threadIdx.x), s, 2 * threadIdx.x, threadIdx.y);
}

static CUarray make(size_t width, CUarray_format format, unsigned channels) {
    const CUDA_ARRAY_DESCRIPTOR d = {width, 0, format, channels};
    CUarray a;
    DRIVER(cuArrayCreate(&a, &d));
    return a;
}

static void check_formats() {
    const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_UNSIGNED_INT16,
                                      CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT8,
                                      CU_AD_FORMAT_SIGNED_INT16,   CU_AD_FORMAT_SIGNED_INT32,
                                      CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    const int bits[] = {8, 16, 32, 8, 16, 32, 16, 32};
    for (int i = 0; i < 8; ++i)
        for (unsigned channels = 1; channels <= 4; channels *= 2) {
            const CUDA_ARRAY3D_DESCRIPTOR d = {3, 2, 5, formats[i], channels, CUDA_ARRAY3D_LAYERED};
            CUDA_ARRAY3D_DESCRIPTOR got;
            CUDA_ARRAY_DESCRIPTOR plane;
            cudaChannelFormatDesc f;
            CUarray a;
            DRIVER(cuArray3DCreate(&a, &d));
            DRIVER(cuArray3DGetDescriptor(&got, a));
            EXPECT(got.Width == 3 && got.Height == 2 && got.Depth == 5 && got.Flags == d.Flags &&
                   got.Format == d.Format && got.NumChannels == channels);
            DRIVER(cuArrayGetDescriptor(&plane, a));
            EXPECT(plane.Width == 3 && plane.Height == 2 && plane.Format == d.Format);
            CUDA(cudaGetChannelDesc(&f, (cudaArray_t)a));
            EXPECT(f.x == bits[i] && f.y == (channels > 1 ? bits[i] : 0) &&
                   f.f == (i < 3   ? cudaChannelFormatKindUnsigned
                           : i < 6 ? cudaChannelFormatKindSigned
                                   : cudaChannelFormatKindFloat));
            DRIVER(cuArrayDestroy(a));
            EXPECT(cuArrayDestroy(a) == CUDA_ERROR_INVALID_HANDLE);
        }
}

static void check_copies(CUstream stream) {
    float host[N], got[N] = {};
    CUdeviceptr device;
    const CUarray a = make(N, CU_AD_FORMAT_FLOAT, 1), b = make(N, CU_AD_FORMAT_FLOAT, 1);
    for (int i = 0; i < N; ++i)
        host[i] = i + 0.5f;
    DRIVER(cuMemAlloc(&device, sizeof host));
    DRIVER(cuMemcpyHtoA(a, 0, host, sizeof host));
    DRIVER(cuMemcpyHtoAAsync(a, 8, host, 8, stream));
    DRIVER(cuMemcpyAtoHAsync(got, a, 4, 16, stream));
    DRIVER(cuStreamSynchronize(stream));
    EXPECT(got[0] == 1.5f && got[1] == 0.5f && got[2] == 1.5f && got[3] == 4.5f);
    DRIVER(cuMemcpyAtoD(device + 4, a, 16, 16));
    DRIVER(cuMemcpyDtoA(b, 20, device + 4, 12));
    DRIVER(cuMemcpyAtoA(b, 0, a, 8, 8));
    DRIVER(cuMemcpyAtoH(got, b, 0, sizeof got));
    EXPECT(got[0] == 0.5f && got[1] == 1.5f && got[5] == 4.5f && got[6] == 5.5f && got[7] == 6.5f);
    EXPECT(cuMemcpyAtoH(got, (CUarray)device, 0, 4) == CUDA_ERROR_INVALID_VALUE);

    CUDA_RESOURCE_DESC r = {}, same;
    CUDA_TEXTURE_DESC d = {};
    CUtexObject t;
    r.res.array.hArray = a;
    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
    DRIVER(cuTexObjectCreate(&t, &r, &d, NULL));
    read_floats<<<1, N>>>(t, (float *)device);
    DRIVER(cuMemcpyDtoH(got, device, sizeof got));
    EXPECT(got[0] == 0.5f && got[2] == 0.5f && got[3] == 1.5f && got[4] == 4.5f);
    DRIVER(cuTexObjectGetResourceDesc(&same, t));
    EXPECT(same.resType == CU_RESOURCE_TYPE_ARRAY && same.res.array.hArray == a);
    DRIVER(cuTexObjectDestroy(t));
    EXPECT(cuTexObjectDestroy(t) == CUDA_ERROR_INVALID_VALUE);
    size_t most = 0;
    DRIVER(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_HALF, 2, 0));
    EXPECT(most == 1 << 28);
    EXPECT(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_HALF, 3, 0) ==
           CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuArrayDestroy(a));
    DRIVER(cuArrayDestroy(b));
    DRIVER(cuMemFree(device));
}

/* Bytes become fractions without CU_TRSF_READ_AS_INTEGER; words stay. */
static void check_reading() {
    const unsigned char bytes[2][4] = {{0, 51, 102, 255}, {255, 0, 153, 0}};
    const unsigned words[4] = {7, 0xffffffff, 3, 0};
    float4 got[2];
    unsigned same[4];
    CUdeviceptr device, out;
    DRIVER(cuMemAlloc(&device, sizeof words));
    DRIVER(cuMemAlloc(&out, sizeof got));
    DRIVER(cuMemcpyHtoD(device, bytes, sizeof bytes));

    CUDA_RESOURCE_DESC r = {}, its;
    CUDA_TEXTURE_DESC d = {}, how;
    CUtexObject t;
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D.devPtr = device;
    r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    r.res.pitch2D.numChannels = 4;
    r.res.pitch2D.width = 2;
    r.res.pitch2D.height = 1;
    r.res.pitch2D.pitchInBytes = 8;
    d.addressMode[0] = CU_TR_ADDRESS_MODE_CLAMP;
    d.borderColor[3] = 2;
    DRIVER(cuTexObjectCreate(&t, &r, &d, NULL));
    read_bytes<<<1, 2>>>(t, (float4 *)out);
    DRIVER(cuMemcpyDtoH(got, out, sizeof got));
    EXPECT(got[0].x == 0 && got[0].y == 51 / 255.0f && got[0].w == 1 && got[1].x == 1 &&
           got[1].z == 153 / 255.0f);
    DRIVER(cuTexObjectGetResourceDesc(&its, t));
    EXPECT(memcmp(&its, &r, sizeof r) == 0);
    DRIVER(cuTexObjectGetTextureDesc(&how, t));
    EXPECT(memcmp(&how, &d, sizeof d) == 0);
    cudaTextureDesc runtime;
    CUDA(cudaGetTextureObjectTextureDesc(&runtime, t));
    EXPECT(runtime.readMode == cudaReadModeNormalizedFloat && runtime.borderColor[3] == 2);
    DRIVER(cuTexObjectDestroy(t));
    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
    d.flags = CU_TRSF_READ_AS_INTEGER;
    EXPECT(cuTexObjectCreate(&t, &r, &d, NULL) == CUDA_ERROR_INVALID_VALUE);

    DRIVER(cuMemcpyHtoD(device, words, sizeof words));
    r = {};
    r.resType = CU_RESOURCE_TYPE_LINEAR;
    r.res.linear.devPtr = device;
    r.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    r.res.linear.numChannels = 1;
    r.res.linear.sizeInBytes = sizeof words;
    d = {};
    d.flags = CU_TRSF_NORMALIZED_COORDINATES;
    DRIVER(cuTexObjectCreate(&t, &r, &d, NULL));
    read_words<<<1, 4>>>(t, (unsigned *)out);
    DRIVER(cuMemcpyDtoH(same, out, sizeof same));
    EXPECT(memcmp(same, words, sizeof words) == 0);
    DRIVER(cuTexObjectGetTextureDesc(&how, t));
    EXPECT(how.flags == CU_TRSF_NORMALIZED_COORDINATES);
    CUDA_RESOURCE_VIEW_DESC view;
    EXPECT(cuTexObjectGetResourceViewDesc(&view, t) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuTexObjectDestroy(t));
    DRIVER(cuMemFree(device));
    DRIVER(cuMemFree(out));
}

static void check_surface() {
    const CUDA_ARRAY3D_DESCRIPTOR d = {
        4, 3, 0, CU_AD_FORMAT_SIGNED_INT16, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC r = {}, same;
    CUsurfObject s;
    CUarray a, plain = make(N, CU_AD_FORMAT_SIGNED_INT16, 1);
    short host[3][4];
    DRIVER(cuArray3DCreate(&a, &d));
    r.res.array.hArray = plain;
    EXPECT(cuSurfObjectCreate(&s, &r) == CUDA_ERROR_INVALID_VALUE);
    r.res.array.hArray = a;
    DRIVER(cuSurfObjectCreate(&s, &r));
    write_surface<<<1, dim3(4, 3)>>>(s);
    CUDA(cudaMemcpyFromArray(host, (cudaArray_t)a, 0, 0, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0][0] == 100 && host[2][3] == 103);
    DRIVER(cuSurfObjectGetResourceDesc(&same, s));
    EXPECT(same.resType == CU_RESOURCE_TYPE_ARRAY && same.res.array.hArray == a);
    DRIVER(cuSurfObjectDestroy(s));
    EXPECT(cuMemcpyAtoH(host, a, 0, 8) == CUDA_ERROR_INVALID_VALUE); /* one dimension only */
    DRIVER(cuArrayDestroy(a));
    DRIVER(cuArrayDestroy(plain));
}

/* A part of an array's rows, in and out by a descriptor; and what does not lie within it. */
static void check_rows() {
    CUarray a;
    const CUDA_ARRAY_DESCRIPTOR format = {6, 4, CU_AD_FORMAT_UNSIGNED_INT16, 2};
    unsigned short in[2][8] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[4][12] = {};
    DRIVER(cuArrayCreate(&a, &format));
    CUDA_MEMCPY2D c = {};
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = in;
    c.srcPitch = sizeof in[0];
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.dstXInBytes = 8;
    c.dstY = 1;
    c.WidthInBytes = 8;
    c.Height = 2;
    DRIVER(cuMemcpy2D(&c));
    CUDA_MEMCPY2D back = {};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = a;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = out;
    back.dstPitch = sizeof out[0];
    back.WidthInBytes = sizeof out[0];
    back.Height = 4;
    DRIVER(cuMemcpy2D(&back));
    EXPECT(out[1][4] == 1 && out[1][7] == 4 && out[2][4] == 5 && out[2][7] == 8);
    EXPECT(out[1][8] == 0xffff && out[3][4] == 0xffff);
    DRIVER(cuArrayDestroy(a));
}

int main() {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    check_formats();
    check_copies(stream);
    check_reading();
    check_surface();
    check_rows();
    DRIVER(cuStreamDestroy(stream));
    DRIVER(cuDevicePrimaryCtxRelease(device));
    puts("ok");
}
