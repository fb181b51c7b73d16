/*
 * A program as nvcc would make it, by hand: a fat binary with PTX, registered, launched. It needs
 * no nvcc and no header of CUDA. EXEC_CUDART: the version whose stand-in it is linked with.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dim {
    uint32_t x, y, z;
} dim;

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global);
int cudaLaunchKernel(const void *kernel, dim grid, dim block, void **arguments, size_t shared,
                     void *stream);
int cudaMalloc(void **memory, size_t bytes);
int cudaFree(void *memory);
int cudaMemcpy(void *to, const void *from, size_t bytes, int direction);
int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t at,
                       int direction);
int cudaGetLastError(void);
int cudaRuntimeGetVersion(int *version);
#if EXEC_CUDART == 12
int cudaGetDeviceProperties_v2(void *to, int device);
#define properties_of cudaGetDeviceProperties_v2
enum { PROPERTIES = 1032, SHARED_AT = 296 };
#else
int cudaGetDeviceProperties(void *to, int device);
#define properties_of cudaGetDeviceProperties
enum { PROPERTIES = EXEC_CUDART == 13 ? 1008 : 728, SHARED_AT = 296 };
#endif

typedef struct copy_attributes {
    int order, hints[4];
    unsigned flags;
} copy_attributes;
int cudaStreamCreate(void **stream);
int cudaStreamDestroy(void *stream);
/* It came with CUDA 12.8; 13 no longer says which copy failed. */
#if EXEC_CUDART >= 13
int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t n,
                         copy_attributes *how, size_t *first, size_t n_how, void *stream);
#define copy_batch(to, from, bytes, n, how, first, n_how, failed, stream)                          \
    cudaMemcpyBatchAsync(to, from, bytes, n, how, first, n_how, stream)
#else
int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t n,
                         copy_attributes *how, size_t *first, size_t n_how, size_t *failed,
                         void *stream);
#define copy_batch cudaMemcpyBatchAsync
#endif

typedef struct resource {
    int kind, padding;
    void *memory;
    int bits[4], format;
    size_t bytes;
    int reserved[64];
} resource;
int cudaCreateTextureObject(uint64_t *object, const resource *of, const void *how,
                            const void *view);
int cudaDestroyTextureObject(uint64_t object);
int cudaGetTextureObjectTextureDesc(void *how, uint64_t object);
enum { OF_MEMORY = 2, READING = EXEC_CUDART >= 12 ? 72 : 68 };

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                          ".visible .global .align 4 .u32 step;\n"
                          ".visible .entry count(.param .u64 to)\n{\n"
                          ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                          "ld.param.u64 %rd1, [to];\n"
                          "ld.global.u32 %r1, [step];\n"
                          "mov.u32 %r2, %tid.x;\n"
                          "mul.lo.u32 %r1, %r1, %r2;\n"
                          "mov.u32 %r3, %ctaid.x;\n"
                          "add.u32 %r1, %r1, %r3;\n"
                          "mul.wide.u32 %rd2, %r2, 4;\n"
                          "add.u64 %rd1, %rd1, %rd2;\n"
                          ".loc 1 7 0\n"
                          "st.global.u32 [%rd1], %r1;\n"
                          "ret;\n}\n"
                          ".file 1 \"/src/count.cu\"\n";

static struct {
    struct {
        uint32_t magic;
        uint16_t version, bytes;
        uint64_t total;
    } header;
    struct {
        uint16_t kind, version;
        uint32_t bytes;
        uint64_t payload;
        uint32_t compressed, options;
        uint16_t minor, major;
        uint32_t architecture, name_offset, name_bytes;
        uint64_t flags, reserved, plain;
    } entry;
    char text[(sizeof ptx + 7) / 8 * 8];
} image;

static struct {
    uint32_t magic, version;
    const void *image;
    void *file;
} wrapper = {0x466243b1, 1, &image, NULL};

static char stub, variable; /* what nvcc's stubs are: addresses */

static void **enter(void) {
    image.header.magic = 0xba55ed50;
    image.header.version = 1;
    image.header.bytes = sizeof image.header;
    image.header.total = sizeof image.entry + sizeof image.text;
    image.entry.kind = 1;
    image.entry.bytes = sizeof image.entry;
    image.entry.payload = sizeof image.text;
    image.entry.architecture = 80;
    memcpy(image.text, ptx, sizeof ptx);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &stub, &stub, "count", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &variable, &variable, "step", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%d: not so: %s\n", __LINE__, #condition);                                      \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

/* Of two blocks, whose threads write the same places. */
static bool race(void) {
    void *memory, *arguments[] = {&memory};
    EXPECT(cudaMalloc(&memory, 32 * sizeof(uint32_t)) == 0);
    EXPECT(cudaLaunchKernel(&stub, (dim){2, 1, 1}, (dim){32, 1, 1}, arguments, 0, NULL) == 0);
    EXPECT(cudaLaunchKernel(&stub, (dim){2, 1, 1}, (dim){32, 1, 1}, arguments, 0, NULL) == 0);
    EXPECT(cudaFree(memory) == 0);
    return true;
}

static bool count(void) {
    const uint32_t step = 3;
    uint32_t got[32];
    void *memory;
    EXPECT(cudaMalloc(&memory, sizeof got) == 0);
    EXPECT(cudaMemcpyToSymbol(&variable, &step, sizeof step, 0, 1) == 0);
    void *arguments[] = {&memory};
    EXPECT(cudaLaunchKernel(&stub, (dim){1, 1, 1}, (dim){32, 1, 1}, arguments, 0, NULL) == 0);
    EXPECT(cudaMemcpy(got, memory, sizeof got, 2) == 0);
    for (uint32_t i = 0; i < 32; ++i)
        EXPECT(got[i] == 3 * i);
    EXPECT(cudaLaunchKernel(&got, (dim){1, 1, 1}, (dim){32, 1, 1}, arguments, 0, NULL) == 98);
    EXPECT(cudaGetLastError() == 98 && cudaGetLastError() == 0);
    EXPECT(cudaFree(memory) == 0);
    return true;
}

/* The stand-in writes its version's struct and not a byte more. */
static bool properties(void) {
    static unsigned char about[2048];
    int version;
    size_t shared;
    memset(about, 0xee, sizeof about);
    EXPECT(properties_of(about, 0) == 0);
    EXPECT(strncmp((const char *)about, "assay", 5) == 0);
    memcpy(&shared, about + SHARED_AT, sizeof shared);
    EXPECT(shared == 49152);
    EXPECT(about[PROPERTIES - 1] != 0xee && about[PROPERTIES] == 0xee);
    EXPECT(cudaRuntimeGetVersion(&version) == 0 && version / 1000 == EXEC_CUDART);
    return true;
}

static bool batch(void) {
    int host[2] = {5, 6}, got[2] = {0};
    void *memory, *stream;
    EXPECT(cudaMalloc(&memory, sizeof host) == 0 && cudaStreamCreate(&stream) == 0);
    void *to[] = {memory, got};
    const void *from[] = {host, memory};
    size_t bytes[] = {sizeof host, sizeof got}, first[] = {0, 1}, failed = 77;
    copy_attributes how[2] = {{.order = 1}, {.order = 1}};
    EXPECT(copy_batch(to, from, bytes, 2, how, first, 2, &failed, stream) == 0);
    EXPECT(got[0] == 5 && got[1] == 6 && failed == (EXEC_CUDART >= 13 ? 77 : SIZE_MAX));
    how[1].order = 0;
    EXPECT(copy_batch(to, from, bytes, 2, how, first, 2, &failed, stream) == 1);
    EXPECT(cudaGetLastError() == 1 && failed == (EXEC_CUDART >= 13 ? 77 : 1));
    EXPECT(cudaStreamDestroy(stream) == 0 && cudaFree(memory) == 0);
    return true;
}

/* A texture's struct has grown by one number. */
static bool textures(void) {
    static unsigned char told[128], how[128];
    uint64_t object;
    resource r = {.kind = OF_MEMORY, .bits = {32}, .bytes = 64};
    memset(told, 0xee, sizeof told);
    EXPECT(cudaMalloc(&r.memory, r.bytes) == 0);
    EXPECT(cudaCreateTextureObject(&object, &r, how, NULL) == 0);
    EXPECT(cudaGetTextureObjectTextureDesc(told, object) == 0);
    EXPECT(told[READING - 1] == 0 && told[READING] == 0xee);
    EXPECT(cudaDestroyTextureObject(object) == 0 && cudaFree(r.memory) == 0);
    return true;
}

/* A copy that is too long, an allocation that is not freed, and a kernel that fails. */
static bool wrong(void) {
    char got[256], *memory;
    EXPECT(cudaMalloc((void **)&memory, 128) == 0);
    EXPECT(cudaMemcpy(got, memory, sizeof got, 2) == 1 && cudaGetLastError() == 1);
    ++memory;
    void *arguments[] = {&memory};
    EXPECT(cudaLaunchKernel(&stub, (dim){1, 1, 1}, (dim){2, 1, 1}, arguments, 0, NULL) == 0);
    return cudaGetLastError() != 0;
}

int main(int argc, char **argv) {
    void **handle = enter();
    const char *word = argc > 1 ? argv[1] : "";
    const bool right = strcmp(word, "wrong") == 0 ? wrong()
                       : strcmp(word, "race") == 0
                           ? race()
                           : count() && properties() && batch() && textures();
    __cudaUnregisterFatBinary(handle);
    if (right)
        puts("ok");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
