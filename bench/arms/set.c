#include "bench/arms/set.h"
#include "engine/buffer.h"

#include <stdlib.h>
#include <string.h>

/* Beyond this a second copy of a set's results would cost more than it tells. */
static const size_t most_taken = (size_t)1 << 30;

/* The commands that describe tensors of each group. */
static const char *const command[SET_GROUPS] = {"in", "out", "cot", "grad"};

/* ---- tensors ---- */

static bool of_inputs(int group) {
    return group == SET_IN || group == SET_GRAD;
}

static int32_t count_of(const form *f, int group) {
    return of_inputs(group) ? f->sig.n_in : f->sig.n_out;
}

static const assay_tensor_spec *spec_of(const form *f, int group, int32_t i) {
    return of_inputs(group) ? &f->sig.in[i] : &f->sig.out[i];
}

static bool exists(const form *f, int group, int32_t i) {
    return group == SET_IN || group == SET_OUT || spec_of(f, group, i)->differentiable;
}

set_tensor *set_next(const set *s, set_groups groups, set_walk *w) {
    for (; w->group < SET_GROUPS; ++w->group, w->next = 0) {
        while (groups & SET_BIT(w->group) && w->next < count_of(s->form, w->group)) {
            const int32_t i = w->next++;
            if (exists(s->form, w->group, i))
                return &s->tensor[w->group][i];
        }
    }
    return NULL;
}

set_tensor *set_find(const set *s, set_group group, const char *name) {
    set_tensor *t;
    for (set_walk w = {0}; (t = set_next(s, SET_BIT(group), &w)) != NULL;)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

size_t set_bytes(const set *s, set_groups groups) {
    const set_tensor *t;
    size_t bytes = 0;
    for (set_walk w = {0}; (t = set_next(s, groups, &w)) != NULL;)
        bytes += t->bytes;
    return bytes;
}

/* ---- life ---- */

static void describe(set_tensor *t, const assay_tensor_spec *spec) {
    t->name = spec->name;
    t->bytes = (size_t)assay_spec_count(spec) * assay_dtype_size(spec->dtype);
    t->tensor = buffer_layout(spec, (spacing){0});
}

assay_status set_init(set *s, const form *f) {
    const size_t count = 2 * (size_t)(f->sig.n_in + f->sig.n_out);
    set_tensor *tensor = calloc(count, sizeof *tensor);
    *s = (set){.form = f};
    if (!tensor)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of %zu tensors", count);
    for (int g = 0; g < SET_GROUPS; ++g) {
        s->tensor[g] = tensor;
        for (int32_t i = 0; i < count_of(f, g); ++i)
            describe(tensor++, spec_of(f, g, i));
    }
    return ASSAY_OK;
}

void set_clear(set *s) {
    free(s->tensor[0]);
    *s = (set){0};
}

assay_status set_complete(const set *s, int64_t index, set_groups groups) {
    const set_tensor *t;
    for (set_walk w = {0}; (t = set_next(s, groups, &w)) != NULL;)
        if (!t->given)
            return assay_fail(ASSAY_ERR_USAGE, "set %lld: '%s %s ...' is missing; give it first",
                              (long long)index, command[w.group], t->name);
    return ASSAY_OK;
}

/* ---- on the device ---- */

static assay_status load(set_tensor *t, const assay_device *device, const shared *from, int group) {
    assay_status status = device->alloc(t->bytes, &t->tensor.data);
    if (status == ASSAY_OK && (group == SET_IN || group == SET_COT) && t->bytes > 0)
        status = device->upload(t->tensor.data, from->data + t->offset, t->bytes);
    t->swapped[0] = t->swapped[1] = 0;
    return status;
}

assay_status set_load(set *s, const assay_device *device, const shared *from, set_groups groups) {
    set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;)
        status = load(t, device, from, w.group);
    s->results = SET_NOTHING;
    s->fresh = false;
    return status;
}

void set_make_room(set *s, const assay_device *device, set_groups groups) {
    set_tensor *t;
    if (set_bytes(s, groups) > most_taken)
        return;
    for (set_walk w = {0}; (t = set_next(s, groups, &w)) != NULL;)
        if (device->alloc(t->bytes, &t->taken) != ASSAY_OK)
            t->taken = NULL;
}

void set_unload(set *s, const assay_device *device) {
    set_tensor *t;
    for (set_walk w = {0}; (t = set_next(s, ~0u, &w)) != NULL;) {
        device->release(t->tensor.data);
        device->release(t->taken);
        t->tensor.data = t->taken = NULL;
    }
}

assay_status set_blank(const set *s, const arm_timer *timer, set_groups groups) {
    const set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;)
        status = timer->blank(t->tensor.data, t->bytes);
    return status;
}

assay_status set_keep(set *s, const arm_timer *timer, set_groups groups) {
    const set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;) {
        if (t->taken)
            status = timer->copy(t->taken, t->tensor.data, t->bytes);
    }
    s->results = SET_TAKEN;
    return status;
}

assay_status set_store(const set *s, const assay_device *device, const shared *to,
                       set_groups groups) {
    const set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;) {
        const void *from = t->taken && s->results == SET_TAKEN ? t->taken : t->tensor.data;
        if (t->bytes > 0)
            status = device->download(to->data + t->offset, from, t->bytes);
    }
    return status;
}
