#include "tests/bench/arm_client.h"
#include "bench/arms/form.h"
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 16, LINE = 512 };

/* ---- life ---- */

static void share_memory(client *c) {
    c->file = memfd_create("assay-arm-test", MFD_CLOEXEC);
    REQUIRE(c->file >= 0 && ftruncate(c->file, CLIENT_MEMORY) == 0);
    c->memory = mmap(NULL, CLIENT_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, c->file, 0);
    REQUIRE(c->memory != MAP_FAILED);
}

void client_start(client *c, const char *device, const char *kernel, const char *name) {
    char *const built_in[] = {ASSAY_ARM_PATH, (char *)name, NULL};
    char *const in_file[] = {ASSAY_ARM_PATH, "--kernel", (char *)kernel, (char *)name, NULL};
    *c = (client){.file = -1};
    const assay_status status = assay_device_open(device, &c->device);
    if (status == ASSAY_ERR_UNSUPPORTED)
        SKIP_GPU(assay_error());
    REQUIRE_OK(status);
    share_memory(c);
    REQUIRE_OK(arm_process_start(&c->process, kernel ? in_file : built_in, c->file));
    SAY(c, "hello %s", device);
}

static void forget_sets(client *c) {
    for (int32_t i = 0; i < c->n_sets; ++i) {
        client_set *s = &c->set[i];
        assay_results_clear(&s->want);
        assay_problem_clear(&s->problem);
        free(s->in);
    }
    c->n_sets = 0;
    c->used = 0;
}

void client_end(client *c) {
    arm_process_end(&c->process);
    forget_sets(c);
    (void)munmap(c->memory, CLIENT_MEMORY);
    (void)close(c->file);
}

/* ---- a set ---- */

static const char *shape_of(const assay_tensor_spec *spec, char text[LINE]) {
    size_t length = 0;
    text[0] = '\0';
    for (int32_t a = 0; a < spec->rank; ++a)
        length +=
            (size_t)snprintf(text + length, LINE - length, " %lld", (long long)spec->shape[a]);
    return text;
}

/* Tells it where a tensor is, with these values unless NULL. */
static size_t place(client *c, const char *command, const assay_tensor_spec *spec,
                    const double *values) {
    char shape[LINE];
    const size_t offset = c->used;
    const int64_t count = assay_spec_count(spec);
    c->used +=
        ((size_t)count * assay_dtype_size(spec->dtype) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    REQUIRE(c->used <= CLIENT_MEMORY);
    if (values)
        assay_dtype_narrow(spec->dtype, values, c->memory + offset, count);
    SAY(c, "%s %s %s %zu%s", command, spec->name, assay_dtype_name(spec->dtype), offset,
        shape_of(spec, shape));
    return offset;
}

static void place_all(client *c, client_set *s) {
    const assay_problem *p = &s->problem;
    const assay_signature *sig = &p->sig;
    s->in = calloc(2 * (size_t)(sig->n_in + sig->n_out), sizeof *s->in);
    REQUIRE(s->in != NULL);
    s->out = s->in + sig->n_in;
    s->cot = s->out + sig->n_out;
    s->grad = s->cot + sig->n_out;
    for (int32_t i = 0; i < sig->n_in; ++i)
        s->in[i] = place(c, "in", &sig->in[i], p->in.data[i]);
    for (int32_t o = 0; o < sig->n_out; ++o)
        s->out[o] = place(c, "out", &sig->out[o], NULL);
    for (int32_t o = 0; o < sig->n_out; ++o)
        if (sig->out[o].differentiable)
            s->cot[o] = place(c, "cot", &sig->out[o], p->cot.data[o]);
    for (int32_t i = 0; i < sig->n_in; ++i)
        if (sig->in[i].differentiable)
            s->grad[i] = place(c, "grad", &sig->in[i], NULL);
}

size_t client_case(client *c, const char *case_words) {
    enum { ROOM = 1 << 16 };
    const size_t at = CLIENT_MEMORY - ROOM;
    assay_case parsed;
    REQUIRE_OK(assay_case_parse(case_words, &parsed));
    REQUIRE_OK(form_write(c->memory + at, ROOM, &parsed));
    return at;
}

void client_describe(client *c, const char *variant, const char *case_words, int32_t n_sets) {
    char text[LINE];
    forget_sets(c);
    SAY(c, "case %zu", client_case(c, case_words));
    for (int32_t i = 0; i < n_sets; ++i) {
        client_set *s = &c->set[c->n_sets++];
        assay_case parsed;
        snprintf(text, sizeof text, "%s seed=%d", case_words, i);
        REQUIRE_OK(assay_case_parse(text, &parsed));
        REQUIRE_OK(assay_problem_init(&s->problem, &parsed));
        REQUIRE_OK(assay_results_init(&s->want, &s->problem.sig));
        const assay_variant *v = variant_find(c->device, parsed.op->name, variant);
        REQUIRE(v != NULL);
        REQUIRE_OK(assay_run(v, c->device, &s->problem, &s->want));
        SAY(c, "set %d", i);
        place_all(c, s);
    }
}

/* ---- results ---- */

static void blank(client *c, const assay_tensor_spec *spec, size_t offset) {
    memset(c->memory + offset, 0, (size_t)assay_spec_count(spec) * assay_dtype_size(spec->dtype));
}

static bool same(const client *c, const assay_tensor_spec *spec, size_t offset,
                 const double *want) {
    const size_t bytes = (size_t)assay_spec_count(spec) * assay_dtype_size(spec->dtype);
    unsigned char *packed = malloc(bytes + 1);
    REQUIRE(packed != NULL);
    assay_dtype_narrow(spec->dtype, want, packed, assay_spec_count(spec));
    const bool equal = memcmp(packed, c->memory + offset, bytes) == 0;
    free(packed);
    return equal;
}

/* "forward+backward" has both words. */
bool client_agrees(client *c, int32_t set, const char *stage) {
    const client_set *s = &c->set[set];
    const assay_signature *sig = &s->problem.sig;
    const bool forward = strstr(stage, "forward"), backward = strstr(stage, "backward");
    bool equal = true;
    for (int32_t o = 0; o < sig->n_out; ++o)
        blank(c, &sig->out[o], s->out[o]);
    for (int32_t i = 0; i < sig->n_in; ++i)
        if (sig->in[i].differentiable)
            blank(c, &sig->in[i], s->grad[i]);
    SAY(c, "take %d", set);
    for (int32_t o = 0; forward && o < sig->n_out; ++o)
        equal &= same(c, &sig->out[o], s->out[o], s->want.out.data[o]);
    for (int32_t i = 0; backward && i < sig->n_in; ++i)
        if (sig->in[i].differentiable)
            equal &= same(c, &sig->in[i], s->grad[i], s->want.grad.data[i]);
    return equal;
}
