#include "engine/frame.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t array_bytes(const assay_tensor_spec *spec) {
    return aligned((size_t)assay_spec_count(spec) * sizeof(double));
}

static size_t specs_bytes(int32_t n_in, int32_t n_out) {
    return aligned((size_t)(n_in + n_out) * sizeof(assay_tensor_spec));
}

/* Head, specs of inputs and outputs; then inputs, cotangents, outputs, gradients; where it stands
 * for a whole, the least and the greatest of all results, the whole's specs and the homes. */
static size_t arrays_offset(int32_t n_in, int32_t n_out) {
    return aligned(sizeof(frame_head)) + specs_bytes(n_in, n_out);
}

static size_t sample_room(const assay_signature *sig, const sample *s) {
    if (!s)
        return 0;
    size_t bytes = specs_bytes(sig->n_in, sig->n_out) + aligned((size_t)s->count * sizeof *s->home);
    for (int32_t o = 0; o < sig->n_out; ++o)
        bytes += 2 * array_bytes(&sig->out[o]);
    for (int32_t i = 0; i < sig->n_in; ++i)
        bytes += sig->in[i].differentiable ? 2 * array_bytes(&sig->in[i]) : 0;
    return bytes;
}

static size_t frame_bytes(const assay_signature *sig, const sample *s) {
    size_t bytes = arrays_offset(sig->n_in, sig->n_out) + sample_room(sig, s);
    for (int32_t i = 0; i < sig->n_in; ++i)
        bytes += (sig->in[i].differentiable ? 2 : 1) * array_bytes(&sig->in[i]);
    for (int32_t o = 0; o < sig->n_out; ++o)
        bytes += (sig->out[o].differentiable ? 2 : 1) * array_bytes(&sig->out[o]);
    return bytes;
}

/* ---- views ---- */

static assay_tensor_spec *specs(const frame *f) {
    return (assay_tensor_spec *)((char *)f->head + aligned(sizeof(frame_head)));
}

/* Arrays that lie in the mapping from `at` on; those of all specs, or of the differentiable. */
static assay_status view_arrays(assay_arrays *arrays, const assay_tensor_spec *spec, int32_t count,
                                bool only_differentiable, char **at) {
    const assay_status status = assay_arrays_init(arrays, count);
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        arrays->size[i] = assay_spec_count(&spec[i]);
        if (only_differentiable && !spec[i].differentiable)
            continue;
        arrays->data[i] = (double *)*at;
        *at += array_bytes(&spec[i]);
    }
    return status;
}

/* Of the data that lie in the mapping at `at`. */
static void view_sample(frame *f, char *at) {
    const frame_head *h = f->head;
    assay_tensor_spec *whole = (assay_tensor_spec *)at;
    f->origin =
        (sample){.sig = {.n_in = h->n_in, .n_out = h->n_out, .in = whole, .out = whole + h->n_in},
                 .rows = h->whole.item[0].value[0],
                 .home = (int64_t *)(at + specs_bytes(h->n_in, h->n_out)),
                 .count = h->n_rows};
    f->problem.sample = &f->origin;
}

static assay_status view(frame *f) {
    frame_head *h = f->head;
    assay_signature *sig = &f->problem.sig;
    *sig = (assay_signature){
        .n_in = h->n_in, .n_out = h->n_out, .in = specs(f), .out = specs(f) + h->n_in};
    char *at = (char *)h + arrays_offset(h->n_in, h->n_out);
    assay_status status = view_arrays(&f->problem.in, sig->in, sig->n_in, false, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->problem.cot, sig->out, sig->n_out, true, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->results.out, sig->out, sig->n_out, false, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->results.grad, sig->in, sig->n_in, true, &at);
    if (status != ASSAY_OK || !h->sampled)
        return status;
    status = view_arrays(&f->results.out_low, sig->out, sig->n_out, false, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->results.out_high, sig->out, sig->n_out, false, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->results.grad_low, sig->in, sig->n_in, true, &at);
    if (status == ASSAY_OK)
        status = view_arrays(&f->results.grad_high, sig->in, sig->n_in, true, &at);
    view_sample(f, at);
    return status;
}

static void forget(assay_arrays *arrays) {
    for (int32_t i = 0; arrays->data && i < arrays->count; ++i)
        arrays->data[i] = NULL; /* the mapping's, not an allocation */
    assay_arrays_clear(arrays);
}

void frame_clear(frame *f) {
    forget(&f->problem.in);
    forget(&f->problem.cot);
    forget(&f->results.out);
    forget(&f->results.grad);
    forget(&f->results.out_low);
    forget(&f->results.out_high);
    forget(&f->results.grad_low);
    forget(&f->results.grad_high);
    if (f->head)
        (void)munmap(f->head, f->bytes);
    if (f->file >= 0)
        (void)close(f->file);
    *f = (frame){.file = -1};
}

/* ---- making one ---- */

static assay_status map(frame *f) {
    void *memory = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->file, 0);
    if (memory == MAP_FAILED)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "no memory for %zu bytes shared with the variant's process: %s", f->bytes,
                          strerror(errno));
    f->head = memory;
    return ASSAY_OK;
}

static void copy_arrays(const assay_arrays *from, const assay_arrays *to) {
    for (int32_t i = 0; i < to->count; ++i)
        if (to->data[i])
            memcpy(to->data[i], from->data[i], (size_t)to->size[i] * sizeof *to->data[i]);
}

static void rearrange(const assay_arrays *from, const assay_arrays *to, frame_rearranger how,
                      assay_rng *rng) {
    for (int32_t i = 0; i < to->count; ++i)
        if (to->data[i])
            how(rng, from->data[i], to->data[i], to->size[i]);
}

static void fill_nan(const assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] && e < arrays->size[i]; ++e)
            arrays->data[i][e] = NAN;
}

static void copy_sample(frame *f, const sample *from) {
    const size_t n_in = (size_t)from->sig.n_in, n_out = (size_t)from->sig.n_out;
    memcpy(f->origin.sig.in, from->sig.in, n_in * sizeof *from->sig.in);
    memcpy(f->origin.sig.out, from->sig.out, n_out * sizeof *from->sig.out);
    memcpy(f->origin.home, from->home, (size_t)from->count * sizeof *from->home);
}

static void write_head(frame_head *h, const char *variant, const assay_problem *p,
                       bool same_places) {
    const assay_case *c = &p->c;
    *h = (frame_head){.params = c->params,
                      .pad = c->pad,
                      .misalign = c->misalign,
                      .schedule = c->schedule,
                      .multiprocessors = c->multiprocessors,
                      .seed = c->seed,
                      .n_in = p->sig.n_in,
                      .n_out = p->sig.n_out,
                      .same_places = same_places,
                      .backward = c->op->backward != NULL};
    if (p->sample) {
        h->sampled = true;
        h->n_rows = p->sample->count;
        h->whole = p->sample->whole.params;
    }
    snprintf(h->op, sizeof h->op, "%s", c->op->name);
    snprintf(h->variant, sizeof h->variant, "%s", variant);
    for (int32_t i = 0; i < c->params.count; ++i)
        snprintf(h->key[i], sizeof h->key[i], "%s", c->params.item[i].name);
}

assay_status frame_init(frame *f, const char *variant, const assay_problem *problem,
                        bool same_places) {
    const assay_signature *sig = &problem->sig;
    *f = (frame){.file = memfd_create("assay-frame", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                 .bytes = frame_bytes(sig, problem->sample)};
    /* A file that the other side could shorten would end this side by SIGBUS. */
    if (f->file < 0 || ftruncate(f->file, (off_t)f->bytes) != 0 ||
        fcntl(f->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        const assay_status status = assay_fail(
            ASSAY_ERR_MEMORY, "no memory for %zu bytes shared with the variant's process: %s",
            f->bytes, strerror(errno));
        frame_clear(f);
        return status;
    }
    assay_status status = map(f);
    if (status == ASSAY_OK) {
        write_head(f->head, variant, problem, same_places);
        memcpy(specs(f), sig->in, (size_t)sig->n_in * sizeof *sig->in);
        memcpy(specs(f) + sig->n_in, sig->out, (size_t)sig->n_out * sizeof *sig->out);
        status = view(f);
    }
    if (status != ASSAY_OK) {
        frame_clear(f);
        return status;
    }
    if (problem->sample)
        copy_sample(f, problem->sample);
    return ASSAY_OK;
}

void frame_fill(frame *f, const assay_problem *problem, frame_rearranger how, assay_rng *rng) {
    if (how) {
        rearrange(&problem->in, &f->problem.in, how, rng);
        rearrange(&problem->cot, &f->problem.cot, how, rng);
    } else {
        copy_arrays(&problem->in, &f->problem.in);
        copy_arrays(&problem->cot, &f->problem.cot);
    }
    fill_nan(&f->results.out);
    fill_nan(&f->results.grad);
    f->head->answered = 0;
}

/* ---- on the other side ---- */

/* Only that it is there is looked at: whether gradients are wanted. */
static assay_status no_oracle(const assay_oracle_args *args, assay_arrays *result) {
    (void)args;
    (void)result;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "there is no oracle in a variant's process");
}

static void write_case(frame *f) {
    frame_head *h = f->head;
    f->op = (assay_op){.name = h->op, .backward = h->backward ? no_oracle : NULL};
    f->problem.c = (assay_case){.op = &f->op,
                                .params = h->params,
                                .pad = h->pad,
                                .misalign = h->misalign,
                                .schedule = h->schedule,
                                .multiprocessors = h->multiprocessors,
                                .seed = h->seed};
    for (int32_t i = 0; i < h->params.count; ++i)
        f->problem.c.params.item[i].name = h->key[i];
    if (h->sampled) {
        assay_case *whole = &f->origin.whole;
        *whole = f->problem.c;
        whole->params = h->whole;
        for (int32_t i = 0; i < h->whole.count; ++i)
            whole->params.item[i].name = h->key[i];
    }
}

assay_status frame_open(frame *f, int file) {
    struct stat info;
    *f = (frame){.file = file};
    if (fstat(file, &info) != 0 || info.st_size < (off_t)sizeof(frame_head)) {
        frame_clear(f);
        return assay_fail(ASSAY_ERR_FILE, "the shared memory holds no frame");
    }
    f->bytes = (size_t)info.st_size;
    assay_status status = map(f);
    if (status == ASSAY_OK)
        status = view(f);
    if (status != ASSAY_OK) {
        frame_clear(f);
        return status;
    }
    write_case(f);
    return ASSAY_OK;
}

/* ---- reading back ---- */

assay_status frame_answer(const frame *f) {
    const volatile frame_head *h = f->head; /* which may change at any time: each is read once */
    const bool answered = h->answered != 0;
    const int status = (int)h->status, failure = (int)h->failure;
    char line[FRAME_LINE];
    memcpy(line, f->head->line, sizeof line);
    line[sizeof line - 1] = '\0';
    for (char *c = line; *c != '\0'; ++c)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    if (!answered)
        return assay_fail(ASSAY_ERR_KERNEL,
                          "its process reported the end of a call that had not ended");
    if (status < ASSAY_OK || status > ASSAY_ERR_KERNEL || failure < ASSAY_FAILURE_OTHER ||
        failure > ASSAY_FAILURE_MEMORY)
        return assay_fail(ASSAY_ERR_KERNEL, "its process gave an answer that has no meaning");
    return status == ASSAY_OK
               ? ASSAY_OK
               : assay_fail_as((assay_status)status, (assay_failure)failure, "%s", line);
}

void frame_results(const frame *f, assay_results *got) {
    got->any_order = ((const volatile frame_head *)f->head)->any_order != 0;
    copy_arrays(&f->results.out, &got->out);
    copy_arrays(&f->results.grad, &got->grad);
    copy_arrays(&f->results.out_low, &got->out_low);
    copy_arrays(&f->results.out_high, &got->out_high);
    copy_arrays(&f->results.grad_low, &got->grad_low);
    copy_arrays(&f->results.grad_high, &got->grad_high);
}
