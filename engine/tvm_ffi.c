/*
 * tvm-ffi's C ABI, and DLPack's tensors, as far as a call needs them. Layouts and numbers from the
 * public headers tvm/ffi/c_api.h (Apache TVM FFI: TVMFFIAny, TVMFFISafeCallType, TVMFFIErrorCell)
 * and dlpack/dlpack.h (DLTensor). tests/cli/forms_test.sh calls a kernel that was compiled with
 * them, where they are installed.
 *
 * Functions that a kernel calls and that this process defines as well, so that a kernel needs
 * nothing else: TVMFFIEnvGetStream, TVMFFIErrorSetRaisedFromCStr and ...FromCStrParts.
 */
#include "engine/tvm_ffi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_NONE = 0, TYPE_INT = 1, TYPE_FLOAT = 3, TYPE_POINTER = 4, TYPE_DLTENSOR = 7 };
enum { DEVICE_CPU = 1, DEVICE_CUDA = 2 };
enum { CODE_INT = 0, CODE_FLOAT = 2, CODE_BFLOAT = 4 };

typedef struct any {
    int32_t type_index;
    uint32_t zero_padding;
    union {
        int64_t v_int64;
        double v_float64;
        void *v_ptr;
    };
} any;

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

_Static_assert(sizeof(any) == 16 && sizeof(dl_tensor) == 48, "as the headers have them");

typedef int (*safe_call)(void *handle, const any *args, int32_t num_args, any *result);

/* ---- what kernels call ---- */

static void *current_stream;
static char raised[320];

void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts);

void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id) {
    (void)device_type;
    (void)device_id;
    return current_stream;
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
    snprintf(raised, sizeof raised, "%s: %s", kind, message);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t num_parts) {
    size_t used = (size_t)snprintf(raised, sizeof raised, "%s: ", kind);
    for (int32_t i = 0; i < num_parts && used < sizeof raised; ++i)
        if (parts[i] != NULL)
            used += (size_t)snprintf(raised + used, sizeof raised - used, "%s", parts[i]);
}

/* An error object of the library itself, where the kernel needs that: behind its header of 24
 * bytes kind and message, each a pointer and a size. */
static void ask_library(void *object) {
    typedef void (*mover)(void **error);
    struct {
        char header[24];
        struct {
            const char *data;
            size_t size;
        } kind, message;
    } *error = NULL;
    mover move = NULL;
    void *symbol = dlsym(object, "TVMFFIErrorMoveFromRaised");
    memcpy(&move, &symbol, sizeof move);
    if (move != NULL)
        move((void **)&error);
    if (error != NULL)
        snprintf(raised, sizeof raised, "%.*s: %.*s", (int)error->kind.size, error->kind.data,
                 (int)error->message.size, error->message.data);
}

/* ---- the call ---- */

static dl_tensor tensor_of(const assay_tensor *t, bool cuda) {
    static const struct {
        uint8_t code, bits;
    } dtypes[] = {[ASSAY_F64] = {CODE_FLOAT, 64},
                  [ASSAY_F32] = {CODE_FLOAT, 32},
                  [ASSAY_BF16] = {CODE_BFLOAT, 16},
                  [ASSAY_F16] = {CODE_FLOAT, 16},
                  [ASSAY_I32] = {CODE_INT, 32}};
    return (dl_tensor){.data = t->data,
                       .device = {cuda ? DEVICE_CUDA : DEVICE_CPU, 0},
                       .ndim = t->rank,
                       .dtype = {dtypes[t->dtype].code, dtypes[t->dtype].bits, 1},
                       .shape = (int64_t *)t->shape,
                       .strides = (int64_t *)t->stride};
}

typedef struct arguments {
    any value[BINDING_ARGUMENTS];
    dl_tensor tensor[BINDING_ARGUMENTS];
    int32_t count;
} arguments;

static void add_tensor(arguments *to, const assay_tensor *t, bool cuda) {
    const int32_t i = to->count++;
    to->tensor[i] = tensor_of(t, cuda);
    to->value[i] = (any){.type_index = TYPE_DLTENSOR, .v_ptr = &to->tensor[i]};
}

static void add_value(arguments *to, const foreign_value *v, bool cuda) {
    if (v->kind == FOREIGN_TENSOR) {
        add_tensor(to, v->tensor, cuda);
        return;
    }
    any *next = &to->value[to->count++];
    switch (v->kind) {
    case FOREIGN_TENSOR:
    case FOREIGN_ABSENT:
        *next = (any){.type_index = TYPE_NONE};
        break;
    case FOREIGN_POINTER:
        *next = (any){.type_index = TYPE_POINTER, .v_ptr = v->pointer};
        break;
    case FOREIGN_INTEGER:
        *next = (any){.type_index = TYPE_INT, .v_int64 = v->integer};
        break;
    case FOREIGN_REAL:
        *next = (any){.type_index = TYPE_FLOAT, .v_float64 = v->real};
        break;
    }
}

static assay_status fill(arguments *to, const binding_launcher *l, bool all, const foreign_call *c,
                         bool cuda) {
    if (all && c->call->n_in + c->call->n_out > BINDING_ARGUMENTS)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: the case has more than %d tensors", l->symbol,
                          BINDING_ARGUMENTS);
    for (int32_t i = 0; all && i < c->call->n_in; ++i)
        add_tensor(to, &c->call->in[i], cuda);
    for (int32_t o = 0; all && o < c->call->n_out; ++o)
        add_tensor(to, &c->call->out[o], cuda);
    for (int32_t i = 0; !all && i < l->count; ++i) {
        foreign_value v;
        const assay_status status = foreign_find(c, &l->argument[i], &v);
        if (status != ASSAY_OK)
            return status;
        add_value(to, &v, cuda);
    }
    return ASSAY_OK;
}

assay_status tvm_ffi_call(void *object, void *function, const binding_launcher *l, bool all,
                          const foreign_call *c, bool cuda) {
    arguments a = {.count = 0};
    any result = {.type_index = TYPE_NONE};
    safe_call call;
    memcpy(&call, &function, sizeof call);
    const assay_status status = fill(&a, l, all, c, cuda);
    if (status != ASSAY_OK)
        return status;
    current_stream = c->call->stream;
    raised[0] = '\0';
    const int code = call(NULL, a.value, a.count, &result);
    if (code == 0)
        return ASSAY_OK;
    if (raised[0] == '\0')
        ask_library(object);
    return assay_fail(ASSAY_ERR_KERNEL, "%s returned %d%s%.200s", l->symbol, code,
                      raised[0] != '\0' ? ": " : "", raised);
}
