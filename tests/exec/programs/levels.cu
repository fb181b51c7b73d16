/* Textures of arrays with levels, sRGB, views, and gathers. */
#include "check.h"

#include <cmath>

enum { WIDTH = 8, LEVELS = 4, LAYERS = 2, N = 32 };

__global__ void read_levels(cudaTextureObject_t t, float *out, float from, float step) {
    const int i = threadIdx.x;
    out[i] = tex2DLod<float>(t, 0.3f, 0.6f, fmaf(step, i, from));
}

__global__ void read_layers(cudaTextureObject_t t, float *out) {
    out[threadIdx.x] = tex2DLayeredLod<float>(t, 0.5f, 0.5f, threadIdx.x, 1);
}

__global__ void read_bytes(cudaTextureObject_t t, float4 *out) {
    out[threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, 0.5f);
}

__global__ void gather(cudaTextureObject_t t, float4 *out) {
    out[0] = tex2Dgather<float4>(t, 3.0f, 2.0f, 0);
    out[1] = tex2Dgather<float4>(t, 8.0f, 4.0f, 0);
}

static float value(int x, int y, int level) {
    return (float)(1000 * level + 10 * y + x);
}

static void fill(cudaArray_t a, int n, int planes, int level) {
    float host[LAYERS][WIDTH][WIDTH];
    for (int z = 0; z < planes; ++z)
        for (int y = 0; y < n; ++y)
            for (int x = 0; x < n; ++x)
                (&host[0][0][0])[(z * n + y) * n + x] = value(x, y, level) + 500 * z;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, n * sizeof(float), n, n);
    copy.dstArray = a;
    copy.extent = make_cudaExtent(n, n, planes);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
}

static cudaMipmappedArray_t make_levels(int planes, unsigned flags) {
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t levels;
    cudaArray_t a;
    CUDA(cudaMallocMipmappedArray(&levels, &f, make_cudaExtent(WIDTH, WIDTH, planes), 7, flags));
    for (int i = 0; i < LEVELS; ++i) {
        CUDA(cudaGetMipmappedArrayLevel(&a, levels, i));
        fill(a, WIDTH >> i, planes > 0 ? planes : 1, i);
    }
    FAILS(cudaGetMipmappedArrayLevel(&a, levels, LEVELS), cudaErrorInvalidValue);
    return levels;
}

static cudaTextureDesc reading(bool linear, bool normalized) {
    cudaTextureDesc d = {};
    for (int i = 0; i < 3; ++i)
        d.addressMode[i] = cudaAddressModeClamp;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.normalizedCoords = normalized;
    d.maxMipmapLevelClamp = 100;
    return d;
}

static cudaResourceDesc of_levels(cudaMipmappedArray_t levels) {
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeMipmappedArray;
    r.res.mipmap.mipmap = levels;
    return r;
}

static double in_level(int level, bool linear) {
    const int n = WIDTH >> level;
    const double x = n * (double)0.3f, y = n * (double)0.6f;
    if (!linear)
        return value((int)x, (int)y, level);
    double sum = 0;
    const int i = (int)floor(x - 0.5), j = (int)floor(y - 0.5);
    const double a = round((x - 0.5 - i) * 256) / 256, b = round((y - 0.5 - j) * 256) / 256;
    for (int k = 0; k < 4; ++k) {
        const int u = i + (k & 1), v = j + (k >> 1);
        const double weight = (k & 1 ? a : 1 - a) * (k >> 1 ? b : 1 - b);
        sum += weight * value(u < 0 ? 0 : u < n ? u : n - 1, v < 0 ? 0 : v < n ? v : n - 1, level);
    }
    return (float)sum;
}

/* A level is bounded, then one is taken or two are weighed. */
static void check_levels(cudaMipmappedArray_t levels, float *out) {
    const float from = -0.5f, step = 0.15f, bias = 0.25f, least = 0.125f, most = 2.75f;
    for (int k = 0; k < 4; ++k) {
        const bool linear = k & 1, mixes = k & 2;
        cudaTextureDesc d = reading(linear, true);
        cudaTextureObject_t t;
        float host[N];
        d.mipmapFilterMode = mixes ? cudaFilterModeLinear : cudaFilterModePoint;
        d.mipmapLevelBias = bias;
        d.minMipmapLevelClamp = least;
        d.maxMipmapLevelClamp = most;
        const cudaResourceDesc r = of_levels(levels);
        CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
        read_levels<<<1, N>>>(t, out, from, step);
        CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < N; ++i) {
            const float level = fmaxf(least, fminf(fmaf(step, i, from) + bias, most));
            const double steps = round(level * 256.0) / 256;
            const int first = mixes ? (int)steps : (int)(level + 0.5f);
            const double weight = mixes ? steps - first : 0;
            const double low = in_level(first, linear);
            const double high = weight > 0 ? in_level(first + 1, linear) : 0;
            EXPECT(host[i] == (float)((1 - weight) * low + weight * high));
        }
        CUDA(cudaDestroyTextureObject(t));
    }
}

static void check_layers(float *out) {
    const cudaMipmappedArray_t levels = make_levels(LAYERS, cudaArrayLayered);
    const cudaResourceDesc r = of_levels(levels);
    const cudaTextureDesc d = reading(false, true);
    cudaTextureObject_t t;
    float host[LAYERS];
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    read_layers<<<1, LAYERS>>>(t, out);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == value(2, 2, 1) && host[1] == value(2, 2, 1) + 500);
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFreeMipmappedArray(levels));
}

/* Levels 1 and 2, of which the first is then 0. */
static void check_part(cudaMipmappedArray_t levels, float *out) {
    const cudaResourceDesc r = of_levels(levels);
    const cudaTextureDesc d = reading(false, true);
    cudaResourceViewDesc view = {}, told = {};
    cudaTextureObject_t t;
    float host[N];
    view.width = view.height = WIDTH / 2;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    FAILS(cudaCreateTextureObject(&t, &r, &d, &view), cudaErrorInvalidValue);
    view.width = view.height = WIDTH;
    CUDA(cudaCreateTextureObject(&t, &r, &d, &view));
    CUDA(cudaGetTextureObjectResourceViewDesc(&told, t));
    EXPECT(told.lastMipmapLevel == 2 && told.width == WIDTH);
    read_levels<<<1, N>>>(t, out, 0, 1);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; ++i)
        EXPECT(host[i] == (float)in_level(i == 0 ? 1 : 2, false));
    CUDA(cudaDestroyTextureObject(t));
}

/* Integers of 32 bits, seen as four bytes each that are brightness of sRGB, the last one linear. */
static void check_bytes(float *out) {
    enum { ELEMENTS = 4 };
    const unsigned char bytes[ELEMENTS][4] = {
        {0, 1, 10, 128}, {11, 50, 100, 255}, {128, 188, 200, 0}, {254, 255, 3, 1}};
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<unsigned>();
    cudaArray_t a;
    cudaResourceDesc r = {};
    cudaTextureDesc d = reading(false, false);
    cudaResourceViewDesc view = {};
    cudaTextureObject_t t;
    float4 host[ELEMENTS];
    CUDA(cudaMallocArray(&a, &f, ELEMENTS, 1));
    CUDA(
        cudaMemcpy2DToArray(a, 0, 0, bytes, sizeof bytes, sizeof bytes, 1, cudaMemcpyHostToDevice));
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    d.readMode = cudaReadModeNormalizedFloat;
    d.sRGB = 1;
    view.format = cudaResViewFormatUnsignedChar4;
    view.width = ELEMENTS;
    view.height = 1;
    CUDA(cudaCreateTextureObject(&t, &r, &d, &view));
    read_bytes<<<1, ELEMENTS>>>(t, (float4 *)out);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < ELEMENTS; ++i) {
        const float got[] = {host[i].x, host[i].y, host[i].z, host[i].w};
        for (int c = 0; c < 4; ++c) {
            const double s = bytes[i][c] / 255.0;
            const double linear = c == 3         ? s
                                  : s <= 0.04045 ? s / 12.92
                                                 : pow((s + 0.055) / 1.055, 2.4);
            EXPECT(fabs(got[c] - linear) <= 1e-6 * linear);
        }
    }
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFreeArray(a));
}

/* The four elements around (3, 2), and those around the right edge. */
static void check_gather(float *out) {
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    const cudaTextureDesc d = reading(false, false);
    cudaResourceDesc r = {};
    cudaTextureObject_t t;
    cudaArray_t a;
    float4 host[2];
    CUDA(cudaMallocArray(&a, &f, WIDTH, WIDTH, cudaArrayTextureGather));
    fill(a, WIDTH, 1, 0);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    gather<<<1, 1>>>(t, (float4 *)out);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0].x == value(2, 2, 0) && host[0].y == value(3, 2, 0));
    EXPECT(host[0].z == value(3, 1, 0) && host[0].w == value(2, 1, 0));
    EXPECT(host[1].x == value(7, 4, 0) && host[1].y == host[1].x);
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFreeArray(a));
}

int main() {
    float *out;
    CUDA(cudaMalloc(&out, N * sizeof *out));
    const cudaMipmappedArray_t levels = make_levels(0, 0);
    check_levels(levels, out);
    check_part(levels, out);
    CUDA(cudaFreeMipmappedArray(levels));
    check_layers(out);
    check_bytes(out);
    check_gather(out);
    CUDA(cudaFree(out));
    puts("ok");
}
