/* The commands of an arm that computes, one function each. */
#include "bench/arms/arm.h"
#include "engine/foreign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

static assay_status one_integer(words *w, const char *what, int64_t low, int64_t high,
                                int64_t *value) {
    const assay_status status = words_integer(w, what, low, high, value);
    return status == ASSAY_OK ? words_end(w) : status;
}

/* The place in `names` of the next word, the last. */
static assay_status last_name(words *w, const char *what, const char *const *names, int count,
                              int *found) {
    char *text;
    assay_status status = words_text(w, what, &text);
    if (status == ASSAY_OK)
        status = words_end(w);
    for (int i = 0; status == ASSAY_OK && i < count; ++i)
        if (strcmp(names[i], text) == 0) {
            *found = i;
            return ASSAY_OK;
        }
    return status != ASSAY_OK ? status
                              : assay_fail(ASSAY_ERR_USAGE, "there is no %s '%.40s'", what, text);
}

/* ---- the case ---- */

static assay_status check_form(const arm_state *a, const form *f) {
    if (strcmp(f->op, a->op) != 0)
        return assay_fail(ASSAY_ERR_USAGE, "this is a case of %s, and this arm is %s/%s", f->op,
                          a->op, a->name);
    if (f->pad != 0 || f->misalign != 0)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "tensors are timed dense and aligned: leave pad and misalign out");
    return ASSAY_OK;
}

static assay_status do_case(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    int64_t at;
    arm_clear(a);
    assay_status status = one_integer(w, "the case's place", 0, INT64_MAX, &at);
    if (status == ASSAY_OK)
        status = shared_map(&a->memory);
    if (status == ASSAY_OK && (uint64_t)at > a->memory.bytes)
        status = assay_fail(ASSAY_ERR_USAGE, "the shared memory ends before the case does");
    if (status == ASSAY_OK)
        status = form_read(a->memory.data + at, a->memory.bytes - (size_t)at, &a->form);
    if (status == ASSAY_OK)
        status = check_form(a, &a->form);
    foreign_describe(status == ASSAY_OK ? &a->form.sig : NULL);
    a->has_case = status == ASSAY_OK;
    return status;
}

static assay_status do_set(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    int64_t index;
    const int64_t most = a->n_sets < ARM_MOST_SETS ? a->n_sets : ARM_MOST_SETS - 1;
    assay_status status = one_integer(w, "the set", 0, most, &index);
    if (status == ASSAY_OK && index == a->n_sets)
        status = set_init(&a->sets[a->n_sets], &a->form);
    if (status != ASSAY_OK)
        return status;
    a->n_sets += index == a->n_sets;
    a->set = index;
    return ASSAY_OK;
}

/* ---- tensors ---- */

static assay_status check_dtype(words *w, const set_tensor *t) {
    char *text;
    const char *want = assay_dtype_name(t->tensor.dtype);
    const assay_status status = words_text(w, "the dtype", &text);
    if (status == ASSAY_OK && strcmp(text, want) != 0)
        return assay_fail(ASSAY_ERR_USAGE, "%s is of dtype %s, not '%.40s'", t->name, want, text);
    return status;
}

static assay_status check_shape(words *w, const set_tensor *t) {
    assay_status status = ASSAY_OK;
    for (int32_t a = 0; status == ASSAY_OK && a < t->tensor.rank; ++a) {
        const int64_t want = t->tensor.shape[a];
        char what[96];
        int64_t extent;
        snprintf(what, sizeof what, "axis %" PRId32 " of %.48s", a, t->name);
        status = words_integer(w, what, want, want, &extent);
    }
    return status == ASSAY_OK ? words_end(w) : status;
}

static assay_status check_place(const shared *memory, const set_tensor *t, size_t offset) {
    if (offset <= memory->bytes && t->bytes <= memory->bytes - offset)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s: %zu bytes at %zu are not within the shared memory's %zu", t->name,
                      t->bytes, offset, memory->bytes);
}

static assay_status describe(arm_state *a, words *w, set_group group) {
    char *name;
    int64_t offset;
    assay_status status = words_text(w, "the tensor's name", &name);
    if (status != ASSAY_OK)
        return status;
    set_tensor *t = set_find(&a->sets[a->set], group, name);
    if (!t)
        return assay_fail(ASSAY_ERR_USAGE, "%s has no such tensor: '%.48s'", a->op, name);
    status = check_dtype(w, t);
    if (status == ASSAY_OK)
        status = words_integer(w, "the offset", 0, INT64_MAX, &offset);
    if (status == ASSAY_OK)
        status = check_shape(w, t);
    if (status == ASSAY_OK)
        status = check_place(&a->memory, t, (size_t)offset);
    if (status != ASSAY_OK)
        return status;
    t->offset = (size_t)offset;
    t->given = true;
    return ASSAY_OK;
}

static assay_status do_in(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    return describe(a, w, SET_IN);
}

static assay_status do_cot(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    return describe(a, w, SET_COT);
}

static assay_status do_out(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    return describe(a, w, SET_OUT);
}

static assay_status do_grad(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    return describe(a, w, SET_GRAD);
}

/* ---- the stage ---- */

static assay_status do_ready(arm_state *a, words *w, FILE *answer) {
    static const char *const names[BENCH_STAGES] = {
        [BENCH_FORWARD] = "forward",
        [BENCH_BACKWARD] = "backward",
        [BENCH_BOTH] = "forward+backward",
    };
    (void)answer;
    int stage = 0;
    assay_status status = last_name(w, "stage", names, BENCH_STAGES, &stage);
    for (int64_t i = 0; status == ASSAY_OK && i < a->n_sets; ++i)
        status = set_complete(&a->sets[i], i, work_needs((bench_stage)stage));
    if (status == ASSAY_OK)
        status = work_init(&a->work, &a->place, &a->form, (bench_stage)stage, a->sets, a->n_sets,
                           &a->memory);
    a->ready = status == ASSAY_OK;
    return status;
}

static assay_status do_done(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    const assay_status status = words_end(w);
    if (status != ASSAY_OK)
        return status;
    work_clear(&a->work);
    a->ready = false;
    return ASSAY_OK;
}

static assay_status do_run(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    int64_t index;
    const assay_status status = one_integer(w, "the set", 0, a->n_sets - 1, &index);
    return status == ASSAY_OK ? work_run(&a->work, index) : status;
}

static assay_status do_take(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    int64_t index;
    const assay_status status = one_integer(w, "the set", 0, a->n_sets - 1, &index);
    return status == ASSAY_OK ? work_take(&a->work, index, &a->memory) : status;
}

static assay_status read_cache(words *w, bench_cache *cache) {
    char *text;
    const assay_status status = words_text(w, "the cache, cold or warm,", &text);
    if (status != ASSAY_OK)
        return status;
    *cache = strcmp(text, "warm") == 0 ? BENCH_WARM : BENCH_COLD;
    return *cache == BENCH_WARM || strcmp(text, "cold") == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_USAGE, "the cache is cold or warm, not '%.40s'", text);
}

static assay_status do_time(arm_state *a, words *w, FILE *answer) {
    bench_cache cache;
    int64_t count, last;
    assay_status status = read_cache(w, &cache);
    if (status == ASSAY_OK)
        status = words_integer(w, "the count", 1, ARM_MOST_COUNT, &count);
    if (status == ASSAY_OK)
        status = one_integer(w, "whether these are the last", 0, 1, &last);
    if (status != ASSAY_OK)
        return status;
    double *microseconds = calloc((size_t)count, sizeof *microseconds);
    if (!microseconds)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %" PRId64 " samples", count);
    status = work_time(&a->work, cache, count, last == 1, microseconds);
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i)
        fprintf(answer, "%s%.6g", i > 0 ? " " : "", microseconds[i]);
    free(microseconds);
    return status;
}

static assay_status do_burst(arm_state *a, words *w, FILE *answer) {
    (void)answer;
    int64_t count;
    const assay_status status = one_integer(w, "the count", 1, ARM_MOST_COUNT, &count);
    return status == ASSAY_OK ? work_burst(&a->work, count) : status;
}

static assay_status do_memory(arm_state *a, words *w, FILE *answer) {
    size_t peak, before;
    const assay_status status = words_end(w);
    if (status != ASSAY_OK)
        return status;
    work_memory(&a->work, &peak, &before);
    fprintf(answer, "%zu %zu", peak, before);
    return ASSAY_OK;
}

static assay_status do_self(arm_state *a, words *w, FILE *answer) {
    (void)a;
    (void)answer;
    int64_t count;
    const assay_status status = one_integer(w, "the count", 1, ARM_MOST_COUNT, &count);
    return status == ASSAY_OK
               ? assay_fail(ASSAY_ERR_UNSUPPORTED, "assay's own arms have no second timer")
               : status;
}

const arm_command arm_variant_commands[] = {
    {"hello", ARM_STARTED, false, arm_hello}, {"case", ARM_HAS_DEVICE, false, do_case},
    {"set", ARM_HAS_CASE, true, do_set},      {"in", ARM_HAS_SET, true, do_in},
    {"cot", ARM_HAS_SET, true, do_cot},       {"out", ARM_HAS_SET, true, do_out},
    {"grad", ARM_HAS_SET, true, do_grad},     {"ready", ARM_HAS_SET, true, do_ready},
    {"run", ARM_READY, false, do_run},        {"take", ARM_READY, false, do_take},
    {"time", ARM_READY, false, do_time},      {"burst", ARM_READY, false, do_burst},
    {"memory", ARM_READY, false, do_memory},  {"self", ARM_READY, false, do_self},
    {"done", ARM_READY, false, do_done},      {NULL, ARM_STARTED, false, NULL},
};
