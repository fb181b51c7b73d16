/* Counters for programs: CSV and JSON with a row for each launch, and a trace in which an event is
 * a launch and time is only the order. */
#include "bench/profile/trace.h"
#include "cli/profile_counts.h"
#include "core/json.h"

#include <inttypes.h>

/* ---- CSV: the kernel's name, which may hold commas, is the last field ---- */

static void put_name(const char *name, uint64_t value, void *context) {
    (void)value;
    fprintf(context, ",%s", name);
}

static void put_value(const char *name, uint64_t value, void *context) {
    (void)name;
    fprintf(context, ",%" PRIu64, value);
}

void counts_csv(FILE *to, const profile_counts *counts) {
    const sim_count none = {0};
    fputs("launch,stage,grid_x,grid_y,grid_z,block_x,block_y,block_z,dynamic_shared", to);
    counters_visit(&none, put_name, to);
    fputs(",kernel\r\n", to);
    for (int32_t l = 0; l < counts->n_launches; ++l) {
        const profile_sum *s = &counts->launch[l];
        const sim_count *c = &s->count;
        fprintf(to, "%d,%s,%u,%u,%u,%u,%u,%u,%" PRIu64, l, assay_stage_name(s->stage), c->grid.x,
                c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z, c->dynamic_shared);
        counters_visit(c, put_value, to);
        fprintf(to, ",\"%s\"\r\n", s->kernel);
    }
}

/* ---- JSON ---- */

static void put_counter(const char *name, uint64_t value, void *context) {
    fprintf(context, ", \"%s\": %" PRIu64, name, value);
}

static void put_sum(FILE *to, const profile_sum *s) {
    const sim_count *c = &s->count;
    fputs("{\"kernel\": ", to);
    json_string(to, s->kernel);
    fprintf(to,
            ", \"stage\": \"%s\", \"launches\": %d, \"grid\": [%u, %u, %u], \"block\": [%u, %u, "
            "%u], \"dynamic_shared\": %" PRIu64,
            assay_stage_name(s->stage), s->launches, c->grid.x, c->grid.y, c->grid.z, c->block.x,
            c->block.y, c->block.z, c->dynamic_shared);
    counters_visit(c, put_counter, to);
    fputs("}", to);
}

static void put_sums(FILE *to, const char *name, const profile_sum *sums, int32_t n) {
    fprintf(to, "  \"%s\": [", name);
    for (int32_t s = 0; s < n; ++s) {
        fputs(s > 0 ? ",\n    " : "\n    ", to);
        put_sum(to, &sums[s]);
    }
    fputs("\n  ]", to);
}

void counts_json(FILE *to, const profile *p, const profile_counts *counts) {
    fputs("{\n  \"case\": ", to);
    json_string(to, p->text);
    fputs(",\n  \"variant\": ", to);
    json_string(to, p->variant->name);
    fprintf(to, ",\n  \"device\": \"%s\",\n", p->device->name);
    put_sums(to, "kernels", counts->sum, counts->n_sums);
    fputs(",\n", to);
    put_sums(to, "launches", counts->launch, counts->n_launches);
    fputs("\n}\n", to);
}

/* ---- the trace ---- */

enum { MOST_NOTES = 64, NOTE_NAME = 48 };

typedef struct notes {
    profile_note note[MOST_NOTES];
    char name[MOST_NOTES][NOTE_NAME];
    int32_t n;
} notes;

static void add_note(const char *name, uint64_t value, void *context) {
    notes *all = context;
    if (value == 0 || all->n == MOST_NOTES)
        return;
    snprintf(all->name[all->n], NOTE_NAME, "%s", name);
    all->note[all->n] = (profile_note){all->name[all->n], NULL, (double)value};
    ++all->n;
}

void counts_trace(FILE *to, const profile *p, const profile_counts *counts) {
    static const profile_row rows[ASSAY_STAGES] = {{0, ASSAY_FORWARD}, {0, ASSAY_BACKWARD}};
    profile_trace trace;
    char title[PROFILE_TITLE];
    trace_begin(&trace, to, profile_title(p, title),
                "the order of launches, 1 us each: the simulated device measures no durations");
    for (int s = 0; s < ASSAY_STAGES; ++s)
        trace_name(&trace, rows[s], "simulated device", assay_stage_name((assay_stage)s));
    for (int32_t l = 0; l < counts->n_launches; ++l) {
        notes all = {.n = 0};
        counters_visit(&counts->launch[l].count, add_note, &all);
        trace_event(&trace, rows[counts->launch[l].stage], counts->launch[l].kernel, l, 1, all.note,
                    all.n);
    }
    trace_end(&trace);
}
