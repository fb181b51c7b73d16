/* Texture and surface objects: every border, both filters, arrays, pitched and plain memory. */
#include "check.h"

#include <cmath>

enum { WIDTH = 5, ROWS = 3, PLANES = 2 };

__global__ void read_plane(cudaTextureObject_t t, float *out, float from, float step, int n) {
    const int i = threadIdx.x;
    if (i < n * n)
        out[i] = tex2D<float>(t, fmaf(step, i % n, from), fmaf(step, i / n, from));
}

__global__ void read_others(cudaTextureObject_t line, cudaTextureObject_t memory,
                            cudaTextureObject_t cube, cudaTextureObject_t layers, float *out) {
    const int i = threadIdx.x;
    bool there = false;
    out[i] = tex1D<float>(line, i - 1.25f);
    out[32 + i] = tex1Dfetch<char2>(memory, i - 1).y;
    out[64 + i] = tex3D<float>(cube, i % 5 + 0.5f, i / 5 % 3 + 0.5f, i / 15 + 0.5f, &there);
    out[96 + i] = tex2DLayered<float>(layers, i % 5 + 0.5f, 1.5f, i / 5) + !there;
}

/* Fractions of their range, which bytes become. */
__global__ void read_bytes(cudaTextureObject_t t, float *out) {
    const float4 v = tex2DLod<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, 0);
    out[2 * threadIdx.x + threadIdx.y] = v.x + v.w;
}

__global__ void write_surface(cudaSurfaceObject_t s) {
    const int x = threadIdx.x;
    const float v = surf2Dread<float>(s, 4 * x, 1, cudaBoundaryModeZero);
    surf2Dwrite(v + 100, s, 4 * x, 2, cudaBoundaryModeZero);
    if (x == 0)
        surf2Dwrite(-1.0f, s, -400, 0, cudaBoundaryModeClamp);
}

static float value(int x, int y, int z) {
    return (float)(x + 10 * y + 100 * z + (x * x + y) % 3);
}

/* The index behind a border's rule; -1: the border's color, which is 0. */
static int within(int i, cudaTextureAddressMode mode, bool normalized, int n) {
    if (mode == cudaAddressModeBorder)
        return i >= 0 && i < n ? i : -1;
    if (mode == cudaAddressModeWrap && normalized)
        return ((i % n) + n) % n;
    if (mode == cudaAddressModeMirror && normalized) {
        const int m = ((i % (2 * n)) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static double at(int x, int y, cudaTextureAddressMode mode, bool normalized) {
    const int i = within(x, mode, normalized, WIDTH), j = within(y, mode, normalized, ROWS);
    return i < 0 || j < 0 ? 0 : value(i, j, 0);
}

static double want(double x, double y, bool linear, cudaTextureAddressMode mode, bool normalized) {
    if (normalized) {
        x *= WIDTH;
        y *= ROWS;
    }
    if (!linear)
        return at((int)floor(x), (int)floor(y), mode, normalized);
    const int i = (int)floor(x - 0.5), j = (int)floor(y - 0.5);
    const int a = (int)round((x - 0.5 - i) * 256), b = (int)round((y - 0.5 - j) * 256);
    const int both = (a * b + 128) / 256; /* weights are of 8 bits, and together 1 */
    return ((256 - a - b + both) * at(i, j, mode, normalized) +
            (a - both) * at(i + 1, j, mode, normalized) +
            (b - both) * at(i, j + 1, mode, normalized) +
            both * at(i + 1, j + 1, mode, normalized)) /
           256;
}

static cudaTextureObject_t make(const cudaResourceDesc &r, cudaTextureAddressMode mode, bool linear,
                                bool normalized, cudaTextureReadMode read) {
    cudaTextureDesc d = {};
    cudaTextureObject_t t = 0;
    for (int i = 0; i < 3; ++i)
        d.addressMode[i] = mode;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.readMode = read;
    d.normalizedCoords = normalized;
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    return t;
}

/* All modes of one resource, with coordinates before, between and behind the elements. */
static void check_plane(const cudaResourceDesc &r, float *out) {
    static const cudaTextureAddressMode modes[] = {cudaAddressModeWrap, cudaAddressModeClamp,
                                                   cudaAddressModeMirror, cudaAddressModeBorder};
    enum { N = 11 };
    for (int m = 0; m < 4; ++m)
        for (int k = 0; k < 4; ++k) {
            const bool linear = k & 1, normalized = k & 2;
            const float from = normalized ? -1.31f : -1.37f, step = normalized ? 0.343f : 0.813f;
            float host[N * N];
            const cudaTextureObject_t t =
                make(r, modes[m], linear, normalized, cudaReadModeElementType);
            read_plane<<<1, 128>>>(t, out, from, step, N);
            CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
            for (int i = 0; i < N * N; ++i)
                EXPECT(host[i] == (float)want(fmaf(step, i % N, from), fmaf(step, i / N, from),
                                              linear, modes[m], normalized));
            CUDA(cudaDestroyTextureObject(t));
        }
}

static cudaArray_t fill(int rows, int planes, unsigned flags) {
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    static float host[PLANES][ROWS][WIDTH];
    cudaArray_t a;
    for (int z = 0; z < PLANES; ++z)
        for (int y = 0; y < ROWS; ++y)
            for (int x = 0; x < WIDTH; ++x)
                host[z][y][x] = value(x, y, z);
    CUDA(cudaMalloc3DArray(&a, &f, make_cudaExtent(WIDTH, rows, planes), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], WIDTH, ROWS);
    copy.dstArray = a;
    copy.extent = make_cudaExtent(WIDTH, rows ? rows : 1, planes ? planes : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    return a;
}

static cudaResourceDesc of_array(cudaArray_t a) {
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}

static void check_others(float *out) {
    enum { BYTES = 2 * WIDTH };
    float host[128];
    signed char *memory, bytes[BYTES];
    const cudaArray_t line = fill(0, 0, 0), cube = fill(ROWS, PLANES, 0),
                      layers = fill(ROWS, PLANES, cudaArrayLayered);
    cudaResourceDesc plain = {};
    CUDA(cudaMalloc(&memory, sizeof bytes));
    for (int i = 0; i < BYTES; ++i)
        bytes[i] = 3 * i - 20;
    CUDA(cudaMemcpy(memory, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    plain.resType = cudaResourceTypeLinear;
    plain.res.linear.devPtr = memory;
    plain.res.linear.desc = cudaCreateChannelDesc<char2>();
    plain.res.linear.sizeInBytes = sizeof bytes;
    const cudaTextureAddressMode clamp = cudaAddressModeClamp;
    const cudaTextureReadMode as_it_is = cudaReadModeElementType;
    const cudaTextureObject_t a = make(of_array(line), clamp, true, false, as_it_is),
                              b = make(plain, clamp, false, false, as_it_is),
                              c = make(of_array(cube), clamp, false, false, as_it_is),
                              d = make(of_array(layers), clamp, false, false, as_it_is);
    read_others<<<1, 30>>>(a, b, c, d, out);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 30; ++i) {
        const double x = i - 1.75, w = x - floor(x);
        const int left = within((int)floor(x), clamp, false, WIDTH),
                  right = within((int)floor(x) + 1, clamp, false, WIDTH), layer = i / 5 ? 1 : 0;
        EXPECT(host[i] == (1 - w) * value(left, 0, 0) + w * value(right, 0, 0));
        EXPECT(host[32 + i] == (i >= 1 && i <= WIDTH ? bytes[2 * i - 1] : 0));
        EXPECT(host[64 + i] == value(i % 5, i / 5 % 3, i / 15));
        EXPECT(host[96 + i] == value(i % 5, 1, layer));
    }
    for (const cudaTextureObject_t t : {a, b, c, d})
        CUDA(cudaDestroyTextureObject(t));
    for (const cudaArray_t array : {line, cube, layers})
        CUDA(cudaFreeArray(array));
    CUDA(cudaFree(memory));
}

static void check_bytes(float *out) {
    const unsigned char host[2][16] = {{0, 9, 9, 255, 51, 9, 9, 0}, {255, 9, 9, 102, 0, 9, 9, 0}};
    float got[4];
    void *memory;
    size_t pitch;
    CUDA(cudaMallocPitch(&memory, &pitch, 8, 2));
    CUDA(cudaMemcpy2D(memory, pitch, host, 16, 8, 2, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = memory;
    r.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    r.res.pitch2D.width = 2;
    r.res.pitch2D.height = 2;
    r.res.pitch2D.pitchInBytes = pitch;
    const cudaTextureObject_t t =
        make(r, cudaAddressModeClamp, true, false, cudaReadModeNormalizedFloat);
    read_bytes<<<1, dim3(2, 2)>>>(t, out);
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 1 && got[1] == 1 + 102 / 255.0f && got[2] == 51 / 255.0f && got[3] == 0);
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaFree(memory));
}

static void check_surface() {
    float host[ROWS][WIDTH];
    cudaSurfaceObject_t s;
    cudaExtent size;
    cudaChannelFormatDesc f;
    unsigned flags;
    const cudaArray_t a = fill(ROWS, 0, cudaArraySurfaceLoadStore);
    const cudaResourceDesc r = of_array(a);
    CUDA(cudaArrayGetInfo(&f, &size, &flags, a));
    EXPECT(f.x == 32 && f.f == cudaChannelFormatKindFloat && size.width == WIDTH &&
           size.height == ROWS && size.depth == 0 && flags == cudaArraySurfaceLoadStore);
    CUDA(cudaCreateSurfaceObject(&s, &r));
    write_surface<<<1, 8>>>(s);
    CUDA(cudaMemcpy2DFromArray(host, sizeof host[0], a, 0, 0, sizeof host[0], ROWS,
                               cudaMemcpyDeviceToHost));
    for (int x = 0; x < WIDTH; ++x) {
        EXPECT(host[1][x] == value(x, 1, 0) && host[2][x] == value(x, 1, 0) + 100);
        EXPECT(host[0][x] == (x == 0 ? -1 : value(x, 0, 0)));
    }
    CUDA(cudaMemcpy2DToArray(a, 4, 1, host, sizeof host[0], 8, 2, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2DFromArray(host, sizeof host[0], a, 4, 2, 4, 1, cudaMemcpyDeviceToHost));
    EXPECT(host[0][0] == value(0, 1, 0));
    CUDA(cudaDestroySurfaceObject(s));
    CUDA(cudaFreeArray(a));
}

int main() {
    float *out;
    CUDA(cudaMalloc(&out, 4096));
    const cudaArray_t plane = fill(ROWS, 0, 0);
    check_plane(of_array(plane), out);
    check_others(out);
    check_bytes(out);
    check_surface();
    CUDA(cudaFreeArray(plane));
    CUDA(cudaFree(out));
    puts("ok");
}
