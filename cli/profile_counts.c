#include "cli/profile_counts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

#define METER(field)                                                                               \
    { #field, offsetof(sim_count, met.field) }
#define EVENT(name, number)                                                                        \
    { name, offsetof(sim_count, event) + sizeof(uint64_t) * (number) }
static const struct {
    const char *name;
    size_t offset;
} meters[] = {
    METER(barriers),
    METER(syncwarps),
    METER(shuffles),
    METER(votes),
    METER(matches),
    METER(reductions),
    METER(mma_bf16),
    METER(mma_f16),
    METER(mma_tf32),
    METER(mma_f64),
    METER(ldmatrix),
    METER(cp_async),
    EVENT("wgmma_bf16", SIM_EVENT_WGMMA_BF16),
    EVENT("wgmma_f16", SIM_EVENT_WGMMA_F16),
    EVENT("wgmma_tf32", SIM_EVENT_WGMMA_TF32),
    EVENT("tensor_core_multiply_adds", SIM_EVENT_MULTIPLY_ADDS),
    EVENT("bulk_loads", SIM_EVENT_BULK_LOADS),
    EVENT("bulk_load_bytes", SIM_EVENT_BULK_LOAD_BYTES),
    EVENT("bulk_load_sectors", SIM_EVENT_BULK_LOAD_SECTORS),
    EVENT("bulk_stores", SIM_EVENT_BULK_STORES),
    EVENT("bulk_store_bytes", SIM_EVENT_BULK_STORE_BYTES),
    EVENT("bulk_store_sectors", SIM_EVENT_BULK_STORE_SECTORS),
    EVENT("bulk_reductions", SIM_EVENT_BULK_REDUCTIONS),
    EVENT("bulk_reduction_bytes", SIM_EVENT_BULK_REDUCTION_BYTES),
    EVENT("bulk_reduction_sectors", SIM_EVENT_BULK_REDUCTION_SECTORS),
    EVENT("mbarrier_phases", SIM_EVENT_MBARRIER_PHASES),
    EVENT("mbarrier_waits", SIM_EVENT_MBARRIER_WAITS),
    EVENT("mbarrier_stalls", SIM_EVENT_MBARRIER_STALLS),
};

static void visit_requests(const char *memory, const char *access, const char *step,
                           const sim_requests *r, counter_visitor visit, void *context) {
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"requests", r->requests}, {"partial", r->partial}, {"lanes", r->lanes},
                  {"bytes", r->bytes},       {step, r->steps},        {"ideal", r->ideal},
                  {"repeats", r->repeats}};
    char name[64];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        snprintf(name, sizeof name, "%s_%s_%s", memory, access, fields[i].name);
        visit(name, fields[i].value, context);
    }
}

void counters_visit(const sim_count *count, counter_visitor visit, void *context) {
    static const char *const access[SIM_ACCESSES] = {
        [SIM_READ] = "load", [SIM_WRITE] = "store", [SIM_ATOMIC] = "atomic"};
    for (int a = 0; a < SIM_ACCESSES; ++a)
        visit_requests("global", access[a], "sectors", &count->global[a], visit, context);
    for (int a = 0; a < SIM_ACCESSES; ++a)
        visit_requests("shared", access[a], "passes", &count->shared[a], visit, context);
    for (size_t m = 0; m < sizeof meters / sizeof *meters; ++m) {
        uint64_t value;
        memcpy(&value, (const char *)count + meters[m].offset, sizeof value);
        visit(meters[m].name, value, context);
    }
}

/* ---- sums ---- */

static bool same_shape(uint3 a, uint3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool alike(const profile_sum *a, const profile_sum *b) {
    return a->stage == b->stage && strcmp(a->kernel, b->kernel) == 0 &&
           same_shape(a->count.grid, b->count.grid) && same_shape(a->count.block, b->count.block) &&
           a->count.dynamic_shared == b->count.dynamic_shared;
}

static void add_requests(sim_requests *to, const sim_requests *more) {
    to->requests += more->requests;
    to->partial += more->partial;
    to->lanes += more->lanes;
    to->bytes += more->bytes;
    to->steps += more->steps;
    to->ideal += more->ideal;
    to->repeats += more->repeats;
}

static void add_count(sim_count *to, const sim_count *more) {
    for (int a = 0; a < SIM_ACCESSES; ++a) {
        add_requests(&to->global[a], &more->global[a]);
        add_requests(&to->shared[a], &more->shared[a]);
    }
    for (size_t m = 0; m < sizeof meters / sizeof *meters; ++m) {
        uint64_t a, b;
        memcpy(&a, (const char *)to + meters[m].offset, sizeof a);
        memcpy(&b, (const char *)more + meters[m].offset, sizeof b);
        a += b;
        memcpy((char *)to + meters[m].offset, &a, sizeof a);
    }
}

static void add_to_sums(profile_counts *counts, const profile_sum *launch) {
    for (int32_t s = 0; s < counts->n_sums; ++s)
        if (alike(&counts->sum[s], launch)) {
            ++counts->sum[s].launches;
            add_count(&counts->sum[s].count, &launch->count);
            return;
        }
    counts->sum[counts->n_sums++] = *launch;
}

static bool grow(profile_sum **sums, int32_t room) {
    profile_sum *more = realloc(*sums, (size_t)room * sizeof *more);
    *sums = more != NULL ? more : *sums;
    return more != NULL;
}

/* A template is written in parentheses for the macro's sake. */
static void copy_name(const char *written, char kernel[160]) {
    size_t length = strlen(written);
    const bool wrapped = length >= 2 && written[0] == '(' && written[length - 1] == ')';
    length = wrapped ? length - 2 : length;
    snprintf(kernel, 160, "%.*s", (int)(length < 159 ? length : 159), written + wrapped);
}

assay_status counts_add(profile_counts *counts, assay_stage stage, const sim_count *launch) {
    if (counts->n_launches == counts->room) {
        const int32_t room = counts->room == 0 ? 16 : 2 * counts->room;
        if (!grow(&counts->launch, room) || !grow(&counts->sum, room))
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the counters of %d launches",
                              counts->n_launches);
        counts->room = room;
    }
    profile_sum *l = &counts->launch[counts->n_launches++];
    *l = (profile_sum){.stage = stage, .launches = 1, .count = *launch};
    copy_name(launch->kernel, l->kernel);
    add_to_sums(counts, l);
    return ASSAY_OK;
}

void counts_clear(profile_counts *counts) {
    free(counts->launch);
    free(counts->sum);
    *counts = (profile_counts){0};
}
