/* Copies with arrays: runs of bytes over the ends of rows, between arrays, in batches; and what
 * objects tell of themselves. "outside": a run that does not fit; "objects": what CUDA lets pass.
 */
#include "check.h"

#include <cstring>

enum { WIDTH = 5, ROWS = 3, ALL = WIDTH * ROWS, ROW = WIDTH * sizeof(short) };

static cudaArray_t make(int rows) {
    const cudaChannelFormatDesc f = cudaCreateChannelDesc<short>();
    cudaArray_t a;
    CUDA(cudaMallocArray(&a, &f, WIDTH, rows, rows ? cudaArraySurfaceLoadStore : 0));
    return a;
}

static void read(short *to, cudaArray_t from, int rows) {
    CUDA(cudaMemcpy2DFromArray(to, ROW, from, 0, 0, ROW, rows, cudaMemcpyDeviceToHost));
}

static void check_runs(cudaArray_t a, cudaArray_t b, cudaStream_t stream) {
    short host[ALL], got[ALL];
    for (int i = 0; i < ALL; ++i)
        host[i] = 100 + i;
    CUDA(cudaMemcpyToArray(a, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    /* From the fourth element of the first row to the second of the third. */
    CUDA(cudaMemcpyToArrayAsync(a, 6, 0, host, 18, cudaMemcpyHostToDevice, stream));
    CUDA(cudaStreamSynchronize(stream));
    read(got, a, ROWS);
    for (int i = 0; i < ALL; ++i)
        EXPECT(got[i] == 100 + (i < 3 || i >= 12 ? i : i - 3));
    CUDA(cudaMemcpyFromArray(host, a, 2, 1, 12, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 103 && host[5] == 108 && host[6] == 106);
    CUDA(cudaMemcpyFromArrayAsync(host, a, 8, 2, 2, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 114 && host[1] == 104);

    CUDA(cudaMemcpyArrayToArray(b, 2, 0, a, 4, 2, 6));
    short line[WIDTH];
    read(line, b, 1);
    EXPECT(line[1] == 112 && line[2] == 113 && line[3] == 114);
    CUDA(cudaMemcpy2DArrayToArray(a, 2, 0, a, 6, 1, 4, 2, cudaMemcpyDeviceToDevice));
    read(got, a, ROWS);
    EXPECT(got[1] == 105 && got[2] == 106 && got[6] == 113 && got[7] == 114 && got[3] == 100);
}

static void check_peer(cudaArray_t a) {
    short host[ALL], *device;
    for (int i = 0; i < ALL; ++i)
        host[i] = -i;
    CUDA(cudaMalloc(&device, sizeof host));
    CUDA(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    cudaMemcpy3DPeerParms p = {};
    p.srcPtr = make_cudaPitchedPtr(device, ROW, WIDTH, ROWS);
    p.srcPos = make_cudaPos(2, 1, 0); /* in elements of the array, as the size */
    p.dstArray = a;
    p.dstPos = make_cudaPos(3, 0, 0);
    p.extent = make_cudaExtent(2, 2, 1);
    CUDA(cudaMemcpy3DPeer(&p));
    short got[ALL];
    read(got, a, ROWS);
    EXPECT(got[3] == -7 && got[4] == -8 && got[8] == -12 && got[9] == -13);
    cudaMemcpy3DParms q = {};
    q.srcArray = a;
    q.srcPos = p.dstPos;
    q.dstPtr = make_cudaPitchedPtr(host, ROW, WIDTH, ROWS);
    q.dstPos = make_cudaPos(1, 1, 0);
    q.extent = p.extent;
    q.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&q));
    EXPECT(host[6] == -7 && host[7] == -8 && host[11] == -12 && host[12] == -13);
    EXPECT(host[5] == -5 && host[8] == -8);
    p.dstDevice = 1;
    FAILS(cudaMemcpy3DPeer(&p), cudaErrorInvalidDevice);
    CUDA(cudaFree(device));
}

/* The pinned source may be written as soon as a call has returned that read it. */
static void check_batches(cudaArray_t a, cudaStream_t stream) {
    int *pinned, *device, got[8];
    CUDA(cudaMallocHost(&pinned, sizeof got));
    CUDA(cudaMalloc(&device, sizeof got));
    CUDA(cudaMemset(device, 0, sizeof got));
    for (int i = 0; i < 8; ++i)
        pinned[i] = i + 1;
    void *to[] = {device, device + 4, device + 6};
    const void *from[] = {pinned, pinned + 1, pinned + 2};
    size_t bytes[] = {8, 4, 8}, first[] = {0, 2};
    cudaMemcpyAttributes how[2] = {};
    how[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    how[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    CUDA(cudaMemcpyBatchAsync(to, from, bytes, 3, how, first, 2, stream));
    pinned[2] = pinned[3] = 77;
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(got, device, sizeof got, cudaMemcpyDeviceToHost));
    const int want[] = {1, 2, 0, 0, 2, 0, 3, 4};
    EXPECT(memcmp(got, want, sizeof got) == 0);
    FAILS(cudaMemcpyBatchAsync(to, from, bytes, 3, how, first, 2, NULL), cudaErrorInvalidValue);
    first[1] = 3;
    FAILS(cudaMemcpyBatchAsync(to, from, bytes, 3, how, first, 2, stream), cudaErrorInvalidValue);

    /* Two rows of three elements into the array, behind the first of a row; and back. */
    short packed[2][4] = {{1, 2, 3, 9}, {4, 5, 6, 9}}, back[2][3] = {};
    cudaMemcpy3DBatchOp op = {};
    op.src.type = cudaMemcpyOperandTypePointer;
    op.src.op.ptr.ptr = packed;
    op.src.op.ptr.rowLength = 4;
    op.dst.type = cudaMemcpyOperandTypeArray;
    op.dst.op.array.array = a;
    op.dst.op.array.offset.x = 1;
    op.extent = make_cudaExtent(3, 2, 1);
    op.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    CUDA(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    const cudaMemcpy3DOperand array = op.dst;
    op.dst = op.src;
    op.dst.op.ptr.ptr = back;
    op.dst.op.ptr.rowLength = 0;
    op.src = array;
    op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CUDA(cudaMemcpy3DBatchAsync(1, &op, 0, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(back[0][0] == 1 && back[0][2] == 3 && back[1][0] == 4 && back[1][2] == 6);
    op.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    FAILS(cudaMemcpy3DBatchAsync(1, &op, 0, stream), cudaErrorInvalidValue);
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(pinned));
}

static void check_objects(cudaArray_t a) {
    cudaResourceDesc r = {}, got;
    cudaTextureDesc d = {}, same;
    cudaResourceViewDesc view;
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    d.addressMode[1] = cudaAddressModeBorder;
    d.borderColor[2] = 0.5f;
    d.filterMode = cudaFilterModeLinear;
    d.readMode = cudaReadModeNormalizedFloat;
    d.seamlessCubemap = 1; /* not of a cube */
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidValue);
    d.seamlessCubemap = 0;
    d.readMode = cudaReadModeElementType;
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidFilterSetting);
    d.readMode = cudaReadModeNormalizedFloat;
    r.res.array.array = NULL;
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidResourceHandle);
    r.res.array.array = a;
    d.addressMode[2] = (cudaTextureAddressMode)4; /* of no dimension that there is */
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    CUDA(cudaCreateSurfaceObject(&s, &r));
    CUDA(cudaGetTextureObjectTextureDesc(&same, t));
    /* An H200's does not tell the colour of the border. */
    EXPECT(same.addressMode[0] == cudaAddressModeWrap);
    EXPECT(same.addressMode[1] == cudaAddressModeBorder);
    EXPECT(same.addressMode[2] == cudaAddressModeClamp);
    EXPECT(same.filterMode == cudaFilterModeLinear && same.normalizedCoords == 0);
    EXPECT(same.readMode == cudaReadModeNormalizedFloat && same.seamlessCubemap == 0);
    CUDA(cudaGetTextureObjectResourceDesc(&got, t));
    EXPECT(got.resType == cudaResourceTypeArray && got.res.array.array == a);
    CUDA(cudaGetSurfaceObjectResourceDesc(&got, s));
    EXPECT(got.resType == cudaResourceTypeArray && got.res.array.array == a);
    FAILS(cudaGetTextureObjectResourceDesc(&got, s), cudaErrorInvalidValue);
    CUDA(cudaGetTextureObjectResourceViewDesc(&view, t)); /* it has none */
    FAILS(cudaGetTextureObjectResourceViewDesc(&view, s), cudaErrorInvalidValue);
    CUDA(cudaDestroySurfaceObject(s));
    CUDA(cudaDestroyTextureObject(t));

    short *rows;
    size_t pitch;
    CUDA(cudaMallocPitch(&rows, &pitch, ROW, ROWS));
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = rows;
    r.res.pitch2D.desc = cudaCreateChannelDesc<short>();
    r.res.pitch2D.width = WIDTH;
    r.res.pitch2D.height = ROWS;
    r.res.pitch2D.pitchInBytes = pitch;
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    CUDA(cudaGetTextureObjectResourceDesc(&got, t));
    EXPECT(got.res.pitch2D.devPtr == rows && got.res.pitch2D.desc.x == 16 &&
           got.res.pitch2D.width == WIDTH && got.res.pitch2D.height == ROWS &&
           got.res.pitch2D.pitchInBytes == pitch);
    CUDA(cudaDestroyTextureObject(t));
    r.res.pitch2D.pitchInBytes = 16; /* not of 32 */
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidValue);
    r.res.pitch2D.pitchInBytes = pitch;
    r.res.pitch2D.devPtr = rows + 64; /* not of 512 bytes */
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidValue);
    r.res.pitch2D.devPtr = rows;
    r.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorInvalidNormSetting);
    CUDA(cudaFree(rows));
    size_t most = 0;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float4>();
    CUDA(cudaDeviceGetTexture1DLinearMaxWidth(&most, &f, 0));
    EXPECT(most == 1 << 28);
    f = cudaCreateChannelDesc<char>();
    CUDA(cudaDeviceGetTexture1DLinearMaxWidth(&most, &f, 0));
    EXPECT(most == 1 << 30);
    f = {8, 8, 8, 0, cudaChannelFormatKindUnsigned};
    FAILS(cudaDeviceGetTexture1DLinearMaxWidth(&most, &f, 0), cudaErrorInvalidChannelDescriptor);
}

/* A surface of an array that is not made for one, the wrong destructor, and one too many. */
static void misuse_objects(cudaArray_t a, cudaArray_t plain) {
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaTextureObject_t t;
    cudaSurfaceObject_t s;
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    CUDA(cudaCreateTextureObject(&t, &r, &d, NULL));
    r.res.array.array = plain;
    CUDA(cudaCreateSurfaceObject(&s, &r));
    CUDA(cudaDestroySurfaceObject(t));
    CUDA(cudaGetTextureObjectTextureDesc(&d, t)); /* it is still there */
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaDestroyTextureObject(t));
    CUDA(cudaDestroySurfaceObject(s));
}

int main(int n, char **words) {
    short host[ALL + 1] = {};
    const cudaArray_t a = make(ROWS), b = make(0);
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    if (n > 1 && strcmp(words[1], "outside") == 0) {
        FAILS(cudaMemcpyToArray(a, 2, 0, host, ALL * sizeof host[0], cudaMemcpyHostToDevice),
              cudaErrorInvalidValue);
    } else if (n > 1 && strcmp(words[1], "objects") == 0) {
        misuse_objects(a, b);
    } else {
        check_runs(a, b, stream);
        check_peer(a);
        check_batches(a, stream);
        check_objects(a);
    }
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFreeArray(a));
    CUDA(cudaFreeArray(b));
    puts("ok");
}
