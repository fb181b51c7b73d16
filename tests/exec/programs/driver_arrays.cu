/* The driver's arrays, their copies of bytes, and its texture and surface objects. "misuse": what
 * CUDA lets pass or fails at. */
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
    EXPECT(cuMemcpyAtoH(got, NULL, 0, 4) == CUDA_ERROR_INVALID_VALUE);

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
    EXPECT(cuTexObjectGetResourceDesc(&same, t) == CUDA_ERROR_INVALID_VALUE);
    size_t most = 0;
    DRIVER(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_HALF, 2, 0));
    EXPECT(most == 1 << 30);
    DRIVER(cuDeviceGetTexture1DLinearMaxWidth(&most, CU_AD_FORMAT_FLOAT, 2, 0));
    EXPECT(most == 1 << 29);
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
    DRIVER(cuMemAlloc(&device, 64));
    DRIVER(cuMemAlloc(&out, sizeof got));
    DRIVER(cuMemsetD8(device, 0, 64));
    DRIVER(cuMemcpyHtoD(device, bytes, sizeof bytes));

    CUDA_RESOURCE_DESC r = {}, its;
    CUDA_TEXTURE_DESC d = {}, how = {};
    CUtexObject t;
    r.resType = CU_RESOURCE_TYPE_PITCH2D;
    r.res.pitch2D.devPtr = device;
    r.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    r.res.pitch2D.numChannels = 4;
    r.res.pitch2D.width = 2;
    r.res.pitch2D.height = 1;
    r.res.pitch2D.pitchInBytes = 8; /* not of 32 */
    EXPECT(cuTexObjectCreate(&t, &r, &d, NULL) == CUDA_ERROR_INVALID_VALUE);
    r.res.pitch2D.pitchInBytes = 32;
    d.addressMode[0] = CU_TR_ADDRESS_MODE_CLAMP;
    d.borderColor[3] = 2;
    DRIVER(cuTexObjectCreate(&t, &r, &d, NULL));
    read_bytes<<<1, 2>>>(t, (float4 *)out);
    DRIVER(cuMemcpyDtoH(got, out, sizeof got));
    EXPECT(got[0].x == 0 && got[0].y == 51 / 255.0f && got[0].w == 1 && got[1].x == 1 &&
           got[1].z == 153 / 255.0f);
    DRIVER(cuTexObjectGetResourceDesc(&its, t));
    EXPECT(its.resType == CU_RESOURCE_TYPE_PITCH2D && its.res.pitch2D.devPtr == device);
    EXPECT(its.res.pitch2D.format == CU_AD_FORMAT_UNSIGNED_INT8);
    EXPECT(its.res.pitch2D.numChannels == 4);
    EXPECT(its.res.pitch2D.width == 2);
    EXPECT(its.res.pitch2D.height == 1);
    EXPECT(its.res.pitch2D.pitchInBytes == 0); /* of one row */
    DRIVER(cuTexObjectGetTextureDesc(&how, t));
    EXPECT(how.addressMode[0] == CU_TR_ADDRESS_MODE_CLAMP && how.flags == 0);
    EXPECT(how.addressMode[1] == CU_TR_ADDRESS_MODE_WRAP && how.maxAnisotropy == 0);
    CUtexObject again; /* made of what is told of it */
    DRIVER(cuTexObjectCreate(&again, &its, &how, NULL));
    read_bytes<<<1, 2>>>(again, (float4 *)out);
    float4 by_again[2];
    DRIVER(cuMemcpyDtoH(by_again, out, sizeof by_again));
    EXPECT(memcmp(by_again, got, sizeof got) == 0);
    DRIVER(cuTexObjectDestroy(again));
    cudaTextureDesc runtime;
    CUDA(cudaGetTextureObjectTextureDesc(&runtime, t));
    EXPECT(runtime.readMode == cudaReadModeNormalizedFloat);
    DRIVER(cuTexObjectDestroy(t));
    d.flags = 0x100; /* which there is not */
    EXPECT(cuTexObjectCreate(&t, &r, &d, NULL) == CUDA_ERROR_INVALID_VALUE);
    d.flags = CU_TRSF_SEAMLESS_CUBEMAP; /* not of a cube */
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
    DRIVER(cuTexObjectGetResourceViewDesc(&view, t)); /* it has none */
    EXPECT(cuTexObjectGetResourceViewDesc(NULL, t) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuTexObjectDestroy(t));
    DRIVER(cuMemFree(device));
    DRIVER(cuMemFree(out));
}

static void check_surface() {
    const CUDA_ARRAY3D_DESCRIPTOR d = {
        4, 3, 0, CU_AD_FORMAT_SIGNED_INT16, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC r = {}, same;
    CUsurfObject s;
    CUarray a;
    short host[3][4], row[4] = {};
    DRIVER(cuArray3DCreate(&a, &d));
    r.res.array.hArray = NULL;
    EXPECT(cuSurfObjectCreate(&s, &r) == CUDA_ERROR_INVALID_VALUE);
    r.res.array.hArray = a;
    DRIVER(cuSurfObjectCreate(&s, &r));
    write_surface<<<1, dim3(4, 3)>>>(s);
    CUDA(cudaMemcpyFromArray(host, (cudaArray_t)a, 0, 0, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0][0] == 100 && host[2][3] == 103);
    DRIVER(cuSurfObjectGetResourceDesc(&same, s));
    EXPECT(same.resType == CU_RESOURCE_TYPE_ARRAY && same.res.array.hArray == a);
    DRIVER(cuSurfObjectDestroy(s));
    DRIVER(cuMemcpyAtoH(row, a, 2, 6)); /* of the first row */
    EXPECT(row[0] == 101 && row[2] == 103 && row[3] == 0);
    DRIVER(cuArrayDestroy(a));
}

/* A part of an array's rows, in and out by a descriptor; and what does not lie within it. */
static void check_rows() {
    CUarray a;
    const CUDA_ARRAY_DESCRIPTOR format = {6, 4, CU_AD_FORMAT_UNSIGNED_INT16, 2};
    unsigned short in[2][8] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[4][12] = {};
    DRIVER(cuArrayCreate(&a, &format));
    CUDA_MEMCPY2D c = {};
    memset(out, 0xff, sizeof out);
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = out;
    c.srcPitch = c.WidthInBytes = sizeof out[0];
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = a;
    c.Height = 4;
    DRIVER(cuMemcpy2D(&c));
    memset(out, 0, sizeof out);
    c.srcHost = in;
    c.srcPitch = sizeof in[0];
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

/* Handles that are gone, a surface of an array that is not made for one, a linear filter of
 * integers, and a run that leaves the first row. */
static void misuse() {
    CUarray a = make(N, CU_AD_FORMAT_SIGNED_INT16, 1), b;
    const CUDA_ARRAY_DESCRIPTOR two = {N, 2, CU_AD_FORMAT_SIGNED_INT16, 1};
    CUDA_RESOURCE_DESC r = {};
    CUDA_TEXTURE_DESC d = {};
    CUtexObject t;
    CUsurfObject s;
    char row[4 * N];
    r.res.array.hArray = a;
    d.filterMode = CU_TR_FILTER_MODE_LINEAR;
    d.flags = CU_TRSF_READ_AS_INTEGER;
    DRIVER(cuTexObjectCreate(&t, &r, &d, NULL));
    DRIVER(cuTexObjectDestroy(t));
    DRIVER(cuTexObjectDestroy(t));
    DRIVER(cuSurfObjectCreate(&s, &r));
    DRIVER(cuSurfObjectDestroy(s));
    DRIVER(cuArrayCreate(&b, &two));
    EXPECT(cuMemcpyAtoH(row, b, 8, 2 * N) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuArrayDestroy(b));
    DRIVER(cuArrayDestroy(a));
    EXPECT(cuArrayDestroy(a) == CUDA_ERROR_INVALID_HANDLE);                   /* a fault on a GPU */
    EXPECT(cuMemcpyAtoH(row, (CUarray)&d, 0, 4) == CUDA_ERROR_INVALID_VALUE); /* this one, too */
}

int main(int n, char **) {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    if (n > 1) {
        misuse();
        puts("ok");
        return 0;
    }
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
