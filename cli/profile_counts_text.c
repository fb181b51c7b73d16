/* Counters for people: a table for each kernel, then the bytes that the stage moved. */
#include "cli/profile_counts.h"
#include "core/columns.h"

#include <inttypes.h>
#include <string.h>

enum { SECTOR = 32 };

static const char *shape(uint3 s, char text[40]) {
    if (s.y == 1 && s.z == 1)
        snprintf(text, 40, "%u", s.x);
    else if (s.z == 1)
        snprintf(text, 40, "%ux%u", s.x, s.y);
    else
        snprintf(text, 40, "%ux%ux%u", s.x, s.y, s.z);
    return text;
}

static double each(uint64_t sum, uint64_t count) {
    return count > 0 ? (double)sum / (double)count : 0;
}

static void add_requests(columns *table, const char *name, const sim_requests *r) {
    if (r->requests == 0)
        return;
    columns_add(table, "  %s", name);
    columns_add(table, "%" PRIu64, r->requests);
    columns_add(table, "%.1f", each(r->lanes, r->requests));
    columns_add(table, "%" PRIu64, r->bytes);
    columns_add(table, "%" PRIu64, r->steps);
    columns_add(table, "%.2f", each(r->steps, r->requests));
    columns_add(table, "%.2f", each(r->ideal, r->requests));
    columns_add(table, "%.2f", each(r->steps, r->ideal));
}

static bool any(const sim_requests r[SIM_ACCESSES]) {
    return r[SIM_READ].requests + r[SIM_WRITE].requests + r[SIM_ATOMIC].requests > 0;
}

static void add_memory(columns *table, const char *memory, const char *step,
                       const sim_requests r[SIM_ACCESSES]) {
    static const char *const access[SIM_ACCESSES] = {
        [SIM_READ] = "loads", [SIM_WRITE] = "stores", [SIM_ATOMIC] = "atomics"};
    const char *const head[] = {memory, "requests", "lanes",  "bytes",
                                step,   "each",     "fewest", "ratio"};
    if (!any(r))
        return;
    for (size_t i = 0; i < sizeof head / sizeof *head; ++i)
        columns_add(table, "%s", head[i]);
    for (int a = 0; a < SIM_ACCESSES; ++a)
        add_requests(table, access[a], &r[a]);
}

static void put_repeats(FILE *to, const char *memory, const sim_requests r[SIM_ACCESSES]) {
    if (r[SIM_ATOMIC].repeats > 0)
        fprintf(to, "      %s: %" PRIu64 " atomics waited for another one of their request\n",
                memory, r[SIM_ATOMIC].repeats);
}

/* The counters after those of memory. */
static void add_meeting(const char *name, uint64_t value, void *context) {
    columns *table = context;
    if (value == 0 || strncmp(name, "global_", 7) == 0 || strncmp(name, "shared_", 7) == 0)
        return;
    columns_add(table, "%s", name);
    columns_add(table, "%" PRIu64, value);
}

static assay_status put_sum(FILE *to, const profile_sum *s) {
    char grid[40], block[40];
    columns memory = {.align = "lrrrrrrr"}, meetings = {.align = "lr"};
    fprintf(to, "  %s: %d launch%s, grid %s, block %s", s->kernel, s->launches,
            s->launches == 1 ? "" : "es", shape(s->count.grid, grid), shape(s->count.block, block));
    if (s->count.dynamic_shared > 0)
        fprintf(to, ", dynamic shared memory %" PRIu64, s->count.dynamic_shared);
    fputs("\n", to);
    add_memory(&memory, "global memory", "sectors", s->count.global);
    add_memory(&memory, "shared memory", "passes", s->count.shared);
    counters_visit(&s->count, add_meeting, &meetings);
    assay_status status = columns_print(&memory, to, 4);
    put_repeats(to, "global memory", s->count.global);
    put_repeats(to, "shared memory", s->count.shared);
    const assay_status printed = columns_print(&meetings, to, 4);
    return status == ASSAY_OK ? printed : status;
}

static uint64_t sectors_of(const sim_count *c) {
    uint64_t sectors = c->event[SIM_EVENT_BULK_LOAD_SECTORS] +
                       c->event[SIM_EVENT_BULK_STORE_SECTORS] +
                       c->event[SIM_EVENT_BULK_REDUCTION_SECTORS];
    for (int a = 0; a < SIM_ACCESSES; ++a)
        sectors += c->global[a].steps;
    return sectors;
}

static void put_moved(FILE *to, const profile *p, const profile_counts *counts, assay_stage stage) {
    assay_work work;
    uint64_t moved = 0;
    for (int32_t s = 0; s < counts->n_sums; ++s)
        if (counts->sum[s].stage == stage)
            moved += SECTOR * sectors_of(&counts->sum[s].count);
    fprintf(to, "  sectors of global memory: %" PRIu64 " bytes", moved);
    if (assay_op_work(p->c.op, &p->c.params, stage, &work) == ASSAY_OK &&
        work.read + work.written > 0) {
        const double ratio = (double)moved / (work.read + work.written);
        fprintf(to, ", %.2f times what the operator cannot do without%s", ratio,
                ratio < 1 ? "; the rest is a library's, whose stand-in launches nothing" : "");
    }
    fputs("\n", to);
}

assay_status counts_text(FILE *to, const profile *p, const profile_counts *counts,
                         assay_stage stage) {
    assay_status status = ASSAY_OK;
    int32_t launches = 0;
    for (int32_t l = 0; l < counts->n_launches; ++l)
        launches += counts->launch[l].stage == stage;
    fprintf(to, "\n%s: %d launch%s\n", assay_stage_name(stage), launches,
            launches == 1 ? "" : "es");
    for (int32_t s = 0; status == ASSAY_OK && s < counts->n_sums; ++s)
        if (counts->sum[s].stage == stage)
            status = put_sum(to, &counts->sum[s]);
    put_moved(to, p, counts, stage);
    return status;
}
