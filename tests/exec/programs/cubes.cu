/* Cubes and layered cubes: textures by directions, both filters; surfaces by faces. */
#include "check.h"

#include <cmath>

enum { SIDE = 4, FACES = 6, LAYERS = 3, STEPS = 9 };

struct direction {
    float x, y, z;
};

__global__ void read_cube(cudaTextureObject_t t, const direction *d, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = texCubemap<float>(t, d[i].x, d[i].y, d[i].z);
}

__global__ void read_layer(cudaTextureObject_t t, const direction *d, float *out, int layer) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = texCubemapLayeredLod<float>(t, d[i].x, d[i].y, d[i].z, layer, 0);
}

__global__ void write_faces(cudaSurfaceObject_t s, cudaSurfaceObject_t layers) {
    const int x = 4 * threadIdx.x, y = threadIdx.y;
    surfCubemapwrite(surfCubemapread<float>(s, x, y, 4) + 1, s, x, y, 1);
    surfCubemapLayeredwrite(surfCubemapLayeredread<float>(layers, x, y, 3) + 1, layers, x, y, 14);
}

static float value(int x, int y, int face) {
    return (float)(x + 10 * y + 100 * face + (x * x + y) % 3);
}

static cudaArray_t fill(int faces, unsigned flags) {
    static float host[FACES * LAYERS][SIDE][SIDE];
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t a;
    for (int z = 0; z < faces; ++z)
        for (int i = 0; i < SIDE * SIDE; ++i)
            host[z][i / SIDE][i % SIDE] = value(i % SIDE, i / SIDE, z);
    CUDA(cudaMalloc3DArray(&a, &f, make_cudaExtent(SIDE, SIDE, faces), cudaArrayCubemap | flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], SIDE, SIDE);
    copy.dstArray = a;
    copy.extent = make_cudaExtent(SIDE, SIDE, faces);
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

static cudaTextureObject_t make(cudaArray_t a, bool linear) {
    const cudaResourceDesc r = of_array(a);
    cudaTextureDesc d = {};
    cudaTextureObject_t t = 0;
    for (int i = 0; i < 3; ++i)
        d.addressMode[i] = cudaAddressModeClamp;
    d.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    d.normalizedCoords = 1;
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    return t;
}

/* Where a face has (s, t), of -1 to 1; the faces are those of +x, -x, +y, -y, +z, -z. */
static direction of_face(int face, float s, float t, float size) {
    const direction all[FACES] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                                  {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    return {all[face].x * size, all[face].y * size, all[face].z * size};
}

static int clamped(int i) {
    return i < 0 ? 0 : i < SIDE ? i : SIDE - 1;
}

/* At (s, t) of a face, for the filter's weights of a quarter. */
static float want(float s, float t, int face, bool linear) {
    const float x = (s + 1) / 2 * SIDE, y = (t + 1) / 2 * SIDE;
    if (!linear)
        return value(clamped((int)floorf(x)), clamped((int)floorf(y)), face);
    const int i = (int)floorf(x - 0.5f), j = (int)floorf(y - 0.5f);
    const float a = x - 0.5f - i, b = y - 0.5f - j;
    float sum = 0;
    for (int corner = 0; corner < 4; ++corner)
        sum += (corner & 1 ? a : 1 - a) * (corner & 2 ? b : 1 - b) *
               value(clamped(i + (corner & 1)), clamped(j + corner / 2), face);
    return sum;
}

/* s and t short of 1, where the face would not be certain. */
static float step(int i) {
    return (i - STEPS / 2) * 0.21875f;
}

static void check(cudaTextureObject_t t, bool linear, int layer, float *out, direction *in) {
    enum { N = STEPS * STEPS };
    static direction d[FACES][N];
    static float host[FACES][N];
    for (int face = 0; face < FACES; ++face)
        for (int i = 0; i < N; ++i)
            d[face][i] = of_face(face, step(i % STEPS), step(i / STEPS), face % 2 ? 0.5f : 8);
    CUDA(cudaMemcpy(in, d, sizeof d, cudaMemcpyHostToDevice));
    if (layer < 0)
        read_cube<<<FACES, N>>>(t, in, out);
    else
        read_layer<<<FACES, N>>>(t, in, out, layer);
    CUDA(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    const int first = layer < 0 ? 0 : FACES * (layer < LAYERS ? layer : LAYERS - 1);
    for (int face = 0; face < FACES; ++face)
        for (int i = 0; i < N; ++i)
            EXPECT(host[face][i] == want(step(i % STEPS), step(i / STEPS), first + face, linear));
}

static void check_surfaces(cudaArray_t cube, cudaArray_t layers) {
    static float host[FACES * LAYERS][SIDE][SIDE];
    const cudaResourceDesc a = of_array(cube), b = of_array(layers);
    cudaSurfaceObject_t s, t;
    CUDA(cudaCreateSurfaceObject(&s, &a));
    CUDA(cudaCreateSurfaceObject(&t, &b));
    write_faces<<<1, dim3(SIDE, SIDE)>>>(s, t);
    for (const cudaArray_t from : {cube, layers}) {
        const int faces = from == cube ? FACES : FACES * LAYERS;
        cudaMemcpy3DParms copy = {};
        copy.srcArray = from;
        copy.dstPtr = make_cudaPitchedPtr(host, sizeof host[0][0], SIDE, SIDE);
        copy.extent = make_cudaExtent(SIDE, SIDE, faces);
        copy.kind = cudaMemcpyDeviceToHost;
        CUDA(cudaMemcpy3D(&copy));
        const int to = from == cube ? 1 : 14, of = from == cube ? 4 : 3;
        for (int z = 0; z < faces; ++z)
            for (int i = 0; i < SIDE * SIDE; ++i)
                EXPECT(host[z][i / SIDE][i % SIDE] ==
                       value(i % SIDE, i / SIDE, z == to ? of : z) + (z == to));
    }
    CUDA(cudaDestroySurfaceObject(s));
    CUDA(cudaDestroySurfaceObject(t));
}

static void check_shapes() {
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<float>();
    cudaArray_t a;
    const cudaExtent wrong[] = {{4, 5, 6}, {4, 4, 5}, {4, 4, 12}, {4, 0, 6}};
    for (const cudaExtent &size : wrong)
        FAILS(cudaMalloc3DArray(&a, &f, size, cudaArrayCubemap), cudaErrorInvalidValue);
    FAILS(cudaMalloc3DArray(&a, &f, make_cudaExtent(4, 4, 9), cudaArrayCubemap | cudaArrayLayered),
          cudaErrorInvalidValue);
}

int main() {
    float *out;
    direction *in;
    CUDA(cudaMalloc(&out, 4096));
    CUDA(cudaMalloc(&in, 8192));
    const cudaArray_t cube = fill(FACES, cudaArraySurfaceLoadStore),
                      layers = fill(FACES * LAYERS, cudaArrayLayered | cudaArraySurfaceLoadStore);
    for (const bool linear : {false, true}) {
        const cudaTextureObject_t a = make(cube, linear), b = make(layers, linear);
        check(a, linear, -1, out, in);
        for (int layer = 0; layer <= LAYERS; ++layer)
            check(b, linear, layer, out, in);
        CUDA(cudaDestroyTextureObject(a));
        CUDA(cudaDestroyTextureObject(b));
    }
    check_surfaces(cube, layers);
    check_shapes();
    CUDA(cudaFreeArray(cube));
    CUDA(cudaFreeArray(layers));
    CUDA(cudaFree(out));
    CUDA(cudaFree(in));
    puts("ok");
}
