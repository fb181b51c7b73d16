#include "bench/exchange.h"

#include "core/parallel.h"
#include "engine/pattern.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 256 };

/* ---- the memory ---- */

static size_t physical_memory(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

assay_status exchange_init(exchange *e) {
    *e = (exchange){.file = memfd_create("assay-bench", MFD_CLOEXEC), .bytes = physical_memory()};
    if (e->file < 0 || ftruncate(e->file, (off_t)e->bytes) != 0)
        goto failed;
    e->memory =
        mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, e->file, 0);
    if (e->memory != MAP_FAILED)
        return ASSAY_OK;
    e->memory = NULL;
failed:;
    const int error = errno;
    exchange_clear(e);
    return assay_fail(ASSAY_ERR_MEMORY, "no memory to share with the arms: %s", strerror(error));
}

void exchange_clear(exchange *e) {
    if (e->memory)
        (void)munmap(e->memory, e->bytes);
    if (e->file >= 0)
        (void)close(e->file);
    free(e->offset);
    *e = (exchange){.file = -1};
}

/* ---- its layout ---- */

static bool is_of_output(exchange_group group) {
    return group == EXCHANGE_COT || group == EXCHANGE_OUT;
}

int32_t exchange_count(const exchange *e, exchange_group group) {
    return is_of_output(group) ? e->sig->n_out : e->sig->n_in;
}

const assay_tensor_spec *exchange_spec(const exchange *e, exchange_group group, int32_t i) {
    return is_of_output(group) ? &e->sig->out[i] : &e->sig->in[i];
}

bool exchange_has(const exchange *e, exchange_group group, int32_t i) {
    if (group == EXCHANGE_IN || group == EXCHANGE_OUT)
        return true;
    return e->backward && exchange_spec(e, group, i)->differentiable;
}

/* The index in `offset` of a group's first tensor. */
static int32_t first_of(const exchange *e, exchange_group group) {
    int32_t first = 0;
    for (exchange_group g = EXCHANGE_IN; g < group; ++g)
        first += exchange_count(e, g);
    return first;
}

static size_t bytes_of(const assay_tensor_spec *spec) {
    return (size_t)assay_spec_count(spec) * assay_dtype_size(spec->dtype);
}

static void place(exchange *e) {
    size_t next = 0, *offset = e->offset;
    for (exchange_group g = EXCHANGE_IN; g <= EXCHANGE_GRAD; ++g) {
        for (int32_t i = 0; i < exchange_count(e, g); ++i, ++offset) {
            *offset = next;
            if (exchange_has(e, g, i))
                next += (bytes_of(exchange_spec(e, g, i)) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
    }
    e->set_bytes = next;
}

assay_status exchange_layout(exchange *e, const assay_signature *sig, bool backward, int32_t sets) {
    const size_t tensors = 2 * ((size_t)sig->n_in + (size_t)sig->n_out);
    (void)fallocate(e->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)e->bytes);
    free(e->offset);
    e->offset = calloc(tensors, sizeof *e->offset);
    if (!e->offset)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %zu tensors", tensors);
    e->sig = sig;
    e->backward = backward;
    e->sets = sets;
    place(e);
    e->used = (size_t)sets * e->set_bytes;
    if (e->used <= e->bytes)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY,
                      "%d input sets need %.1f GiB of host memory, of %.1f GiB: choose a smaller "
                      "case",
                      sets, (double)e->used / 0x1p30, (double)e->bytes / 0x1p30);
}

size_t exchange_offset(const exchange *e, int32_t set, exchange_group group, int32_t i) {
    return (size_t)set * e->set_bytes + e->offset[first_of(e, group) + i];
}

/* ---- its contents ---- */

typedef struct piecework {
    assay_dtype dtype;
    const double *from;
    unsigned char *packed;
    double *to;
} piecework;

static void narrow_piece(void *context, int64_t first, int64_t last) {
    const piecework *w = context;
    assay_dtype_narrow(w->dtype, w->from + first,
                       w->packed + (size_t)first * assay_dtype_size(w->dtype), last - first);
}

static void widen_piece(void *context, int64_t first, int64_t last) {
    const piecework *w = context;
    assay_dtype_widen(w->dtype, w->packed + (size_t)first * assay_dtype_size(w->dtype),
                      w->to + first, last - first);
}

static void put_group(exchange *e, int32_t set, exchange_group group, const assay_arrays *from) {
    for (int32_t i = 0; i < from->count; ++i) {
        if (!from->data[i] || !exchange_has(e, group, i))
            continue;
        piecework w = {.dtype = exchange_spec(e, group, i)->dtype,
                       .from = from->data[i],
                       .packed = e->memory + exchange_offset(e, set, group, i)};
        assay_parallel(from->size[i], narrow_piece, &w);
    }
}

void exchange_put(exchange *e, int32_t set, const assay_problem *p) {
    put_group(e, set, EXCHANGE_IN, &p->in);
    put_group(e, set, EXCHANGE_COT, &p->cot);
}

void exchange_blank(exchange *e, int32_t set, assay_stage stage) {
    const exchange_group group = stage == ASSAY_FORWARD ? EXCHANGE_OUT : EXCHANGE_GRAD;
    for (int32_t i = 0; i < exchange_count(e, group); ++i)
        if (exchange_has(e, group, i))
            pattern_fill(e->memory + exchange_offset(e, set, group, i), 0,
                         bytes_of(exchange_spec(e, group, i)));
}

void exchange_get(const exchange *e, int32_t set, exchange_group group, int32_t i, double *values) {
    const assay_tensor_spec *spec = exchange_spec(e, group, i);
    piecework w = {.dtype = spec->dtype,
                   .packed = e->memory + exchange_offset(e, set, group, i),
                   .to = values};
    assay_parallel(assay_spec_count(spec), widen_piece, &w);
}
