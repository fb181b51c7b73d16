/*
 * Calls by C's ABI for x86-64 (System V): integers and pointers go into six registers and then onto
 * the stack, numbers with a point into eight registers of their own. So one call with all integers
 * in their order and all others in theirs fits every signature of at most eight of the latter.
 */
#include "engine/foreign.h"
#include "engine/foreign_module.h"
#include "engine/foreign_value.h"
#include "engine/inside.h"
#include "engine/tvm_ffi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { REALS = 8, INTEGERS = 32, CUDA_NAME = 80 };

typedef struct foreign {
    binding binding;
    void *object, *function[ASSAY_STAGES];
    char op[BINDING_VALUE], name[BINDING_VALUE], device[16], summary[BINDING_SYMBOL + 32];
    assay_variant variant;
    const assay_signature *sig;
} foreign;

static foreign the; /* of this process */

void foreign_describe(const assay_signature *sig) {
    the.sig = sig;
}

const assay_signature *foreign_described(void) {
    return the.sig;
}

/* ---- what fits ---- */

static const binding_launcher *launcher(assay_stage stage) {
    return &the.binding.stage[stage];
}

static bool takes_stride(const binding_launcher *l, const char *tensor) {
    char dotted[BINDING_VALUE + 16], joined[BINDING_VALUE + 16];
    snprintf(dotted, sizeof dotted, "%s.stride", tensor);
    snprintf(joined, sizeof joined, "%s_stride", tensor);
    for (int32_t i = 0; i < l->count; ++i)
        if (strcmp(l->argument[i].value, dotted) == 0 || strcmp(l->argument[i].value, joined) == 0)
            return true;
    return false;
}

static bool is_spaced(const assay_tensor *t) {
    return assay_tensor_rows(t) > 1 && assay_tensor_row_stride(t) != assay_tensor_row_length(t);
}

/* A DLTensor says its strides itself. */
static assay_status check_argument(const binding_launcher *l, const binding_argument *a,
                                   const foreign_value *v) {
    const bool pointer = v->kind == FOREIGN_TENSOR || v->kind == FOREIGN_POINTER;
    if (pointer && a->type != BINDING_UNTOLD && a->type != BINDING_POINTER)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: %s is a pointer, and its type is not",
                          l->symbol, a->value);
    if (!pointer && v->kind != FOREIGN_ABSENT && a->type == BINDING_POINTER)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: %s is a number, and its type a pointer",
                          l->symbol, a->value);
    if (v->kind != FOREIGN_TENSOR)
        return ASSAY_OK;
    if (a->type == BINDING_POINTER && !a->any && a->dtype != v->tensor->dtype)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: %s is %s, and the case has %s", l->symbol,
                          a->value, assay_dtype_name(a->dtype), assay_dtype_name(v->tensor->dtype));
    if (!l->tvm_ffi && is_spaced(v->tensor) && !takes_stride(l, a->value))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%s takes no %s.stride: %s must be packed (--layout packed)", l->symbol,
                          a->value, a->value);
    return ASSAY_OK;
}

static bool is_all(const binding_launcher *l) {
    return l->tvm_ffi && l->count == 1 && strcmp(l->argument->value, "all") == 0;
}

static assay_status check_sizes(const foreign_call *c) {
    const binding *b = &the.binding;
    int64_t bytes, wanted;
    assay_status status = foreign_sizes(c, b->require, 1, 1, &wanted);
    if (status == ASSAY_OK && wanted == 0)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "its binding requires %s", b->require);
    return status == ASSAY_OK ? foreign_sizes(c, b->workspace, 1, 0, &bytes) : status;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const binding_launcher *l = launcher(stage);
    const foreign_call c = {the.sig, stage, call};
    assay_status status = ASSAY_OK;
    if (the.sig == NULL)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "the case's tensors are not known here");
    for (int32_t i = 0; status == ASSAY_OK && !is_all(l) && i < l->count; ++i) {
        foreign_value v;
        status = foreign_find(&c, &l->argument[i], &v);
        if (status == ASSAY_OK)
            status = check_argument(l, &l->argument[i], &v);
    }
    if (status == ASSAY_OK)
        status = check_sizes(&c);
    return status == ASSAY_OK && binding_is_of_kernels(&the.binding)
               ? foreign_module_check(&the.binding, &c)
               : status;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const foreign_call c = {the.sig, stage, call};
    int64_t bytes;
    return foreign_sizes(&c, the.binding.workspace, 1, 0, &bytes) == ASSAY_OK ? (size_t)bytes : 0;
}

/* ---- C's ABI ---- */

typedef struct registers {
    uint64_t integer[INTEGERS];
    double real[REALS];
    int n_integers, n_reals;
} registers;

static bool put_integer(registers *r, uint64_t value) {
    if (r->n_integers == INTEGERS)
        return false;
    r->integer[r->n_integers++] = value;
    return true;
}

/* A float lies in the low half of its register. */
static bool put_real(registers *r, double value, bool is_float) {
    const float low = (float)value;
    if (r->n_reals == REALS)
        return false;
    r->real[r->n_reals] = value;
    if (is_float)
        memcpy(&r->real[r->n_reals], &low, sizeof low);
    ++r->n_reals;
    return true;
}

static bool put(registers *r, const binding_argument *a, const foreign_value *v) {
    const double real = v->kind == FOREIGN_REAL ? v->real : (double)v->integer;
    switch (v->kind) {
    case FOREIGN_TENSOR:
        return put_integer(r, (uint64_t)(uintptr_t)v->tensor->data);
    case FOREIGN_ABSENT:
        return put_integer(r, 0);
    case FOREIGN_POINTER:
        return put_integer(r, (uint64_t)(uintptr_t)v->pointer);
    case FOREIGN_INTEGER:
    case FOREIGN_REAL:
        break;
    }
    if (a->type == BINDING_FLOAT || a->type == BINDING_DOUBLE ||
        (a->type == BINDING_UNTOLD && v->kind == FOREIGN_REAL))
        return put_real(r, real, a->type == BINDING_FLOAT);
    return put_integer(r,
                       v->kind == FOREIGN_REAL ? (uint64_t)(int64_t)v->real : (uint64_t)v->integer);
}

#if defined(__x86_64__)
typedef uint64_t u64;
typedef int (*function)(u64, u64, u64, u64, u64, u64, double, double, double, double, double,
                        double, double, double, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
                        u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
                        u64);

static int enter(void *code, const registers *r) {
    const u64 *i = r->integer;
    const double *d = r->real;
    function f;
    memcpy(&f, &code, sizeof f);
    return f(i[0], i[1], i[2], i[3], i[4], i[5], d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7],
             i[6], i[7], i[8], i[9], i[10], i[11], i[12], i[13], i[14], i[15], i[16], i[17], i[18],
             i[19], i[20], i[21], i[22], i[23], i[24], i[25], i[26], i[27], i[28], i[29], i[30],
             i[31]);
}
#else
static int enter(void *code, const registers *r) {
    (void)code;
    (void)r;
    return -1; /* foreign_load() has refused it */
}
#endif

/* " (cudaErrorInvalidConfiguration)", by the runtime that the object has loaded. */
static const char *cuda_name(int error, char name[CUDA_NAME]) {
    const char *(*ask)(int);
    void *found = dlsym(the.object, "cudaGetErrorName");
    name[0] = '\0';
    memcpy(&ask, &found, sizeof ask);
    if (found != NULL)
        snprintf(name, CUDA_NAME, " (%s)", ask(error));
    return name;
}

static assay_status call_plain(const binding_launcher *l, const foreign_call *c) {
    registers r = {0};
    char name[CUDA_NAME];
    for (int32_t i = 0; i < l->count; ++i) {
        foreign_value v;
        const assay_status status = foreign_find(c, &l->argument[i], &v);
        if (status != ASSAY_OK)
            return status;
        if (!put(&r, &l->argument[i], &v))
            return assay_fail(ASSAY_ERR_UNSUPPORTED,
                              "%s: more than %d integers and pointers, or %d others", l->symbol,
                              INTEGERS, REALS);
    }
    const int result = enter(the.function[c->stage], &r);
    if (l->result == BINDING_NO_RESULT || result == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_KERNEL, "%s returned %d%s", l->symbol, result,
                      l->result == BINDING_CUDA_ERROR ? cuda_name(result, name) : "");
}

/* ---- the variant ---- */

static assay_status run(assay_stage stage, const assay_call *call) {
    const binding_launcher *l = launcher(stage);
    const foreign_call c = {the.sig, stage, call};
    if (binding_is_of_kernels(&the.binding))
        return foreign_module_launch(&the.binding, &c);
    return l->tvm_ffi ? tvm_ffi_call(the.object, the.function[stage], l, is_all(l), &c,
                                     strcmp(the.device, "cuda") == 0)
                      : call_plain(l, &c);
}

static assay_status forward(const assay_call *call) {
    return run(ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return run(ASSAY_BACKWARD, call);
}

/* The object's table of names, which the loader has mapped. */
static const char *table_of_names(void *object, size_t *bytes) {
    const char *table = NULL;
    struct link_map *map;
    *bytes = 0;
    if (dlinfo(object, RTLD_DI_LINKMAP, &map) != 0)
        return NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; ++d) {
        if (d->d_tag == DT_STRTAB)
            table = (const char *)d->d_un.d_ptr; /* relocated by the loader */
        if (d->d_tag == DT_STRSZ)
            *bytes = (size_t)d->d_un.d_val;
    }
    return table;
}

/* Without extern "C" its name is _Z, its length, itself and its parameters' types; overloads have
 * several such names. */
static void *find_function(void *object, const char *symbol) {
    void *found = dlsym(object, symbol);
    char start[BINDING_SYMBOL + 16];
    size_t bytes;
    int count = 0;
    if (found)
        return found;
    const size_t length = (size_t)snprintf(start, sizeof start, "_Z%zu%s", strlen(symbol), symbol);
    const char *table = table_of_names(object, &bytes), *end = table ? table + bytes : NULL;
    for (const char *at = table; at < end; at += strlen(at) + 1) {
        void *other = strncmp(at, start, length) == 0 ? dlsym(object, at) : NULL;
        count += other != NULL;
        found = other ? other : found;
    }
    return count == 1 ? found : NULL;
}

static assay_status find_functions(const char *file) {
    const assay_status status = inside_load(file, &the.object);
    if (status != ASSAY_OK)
        return status;
    for (int s = 0; s < ASSAY_STAGES; ++s) {
        const char *symbol = the.binding.stage[s].symbol;
        the.function[s] = symbol[0] != '\0' ? find_function(the.object, symbol) : NULL;
        if (symbol[0] != '\0' && the.function[s] == NULL)
            return assay_fail(
                ASSAY_ERR_USAGE,
                "has no function %s that it exports: is it static, in a namespace, or "
                "there more than once?",
                symbol);
    }
    return ASSAY_OK;
}

assay_status foreign_load(const char *file, const char *op, const char *name, const char *device,
                          const char *text, const assay_variant **variant) {
    assay_status status = binding_parse("--binding", text, &the.binding);
#if !defined(__x86_64__)
    if (status == ASSAY_OK && !binding_is_of_kernels(&the.binding))
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "bindings are for x86-64; use ASSAY_VARIANT");
#endif
    if (status == ASSAY_OK)
        status = binding_is_of_kernels(&the.binding) ? foreign_module_load(file, &the.binding)
                                                     : find_functions(file);
    if (status != ASSAY_OK)
        return status;
    snprintf(the.op, sizeof the.op, "%s", op);
    snprintf(the.name, sizeof the.name, "%s", name);
    snprintf(the.device, sizeof the.device, "%s", device);
    snprintf(the.summary, sizeof the.summary, "%s", launcher(ASSAY_FORWARD)->symbol);
    the.variant =
        (assay_variant){.op = the.op,
                        .name = the.name,
                        .device = the.device,
                        .summary = the.summary,
                        .supports = supports,
                        .workspace = workspace,
                        .order = the.binding.any_order ? ASSAY_ORDER_ANY : ASSAY_ORDER_FIXED,
                        .forward = forward,
                        .backward = launcher(ASSAY_BACKWARD)->symbol[0] != '\0' ? backward : NULL};
    *variant = &the.variant;
    return ASSAY_OK;
}
