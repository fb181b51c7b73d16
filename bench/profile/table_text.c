/* For people at a terminal of 100 columns: names, which may be long, come last. */
#include "bench/profile/table_text.h"
#include "bench/profile/kernel_name.h"
#include "bench/profile/occupancy.h"
#include "core/columns.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { SHAPE = 40 };

static const char *shape(const uint32_t s[3], char text[SHAPE]) {
    if (s[1] == 1 && s[2] == 1)
        snprintf(text, SHAPE, "%u", s[0]);
    else if (s[2] == 1)
        snprintf(text, SHAPE, "%ux%u", s[0], s[1]);
    else
        snprintf(text, SHAPE, "%ux%ux%u", s[0], s[1], s[2]);
    return text;
}

static bool is_kernel(const profile_line *line) {
    return line->like.kind == PROFILE_KERNEL;
}

static uint32_t shared(const profile_line *line) {
    return line->like.static_shared + line->like.dynamic_shared;
}

/* ---- for people ---- */

static void add_line(columns *table, const profile_line *line, const profile_limits *limits) {
    char grid[SHAPE], block[SHAPE];
    const bool kernel = is_kernel(line);
    columns_add(table, "%" PRId64, line->calls);
    columns_add(table, "%.1f", line->total);
    columns_add(table, "%.2f", line->total / (double)line->calls);
    columns_add(table, "%.1f %%", 100 * line->share);
    if (!kernel) {
        for (int i = 0; i < 5; ++i)
            columns_add(table, "%s", "");
        columns_add(table, "%s, %.4g GB/s", line->like.name,
                    (double)line->bytes / line->total / 1e3);
        return;
    }
    columns_add(table, "%s", shape(line->like.grid, grid));
    columns_add(table, "%s", shape(line->like.block, block));
    columns_add(table, "%u", line->like.registers);
    columns_add(table, "%u", shared(line));
    columns_add(table, "%.0f %%", 100 * occupancy_of(&line->like, limits).share);
    columns_add(table, "%s%s", line->like.name, line->like.local > 0 ? " (local memory)" : "");
}

static assay_status put_lines(FILE *to, const profile_table *lines, const profile_limits *limits) {
    static const char *const head[] = {"calls", "total us", "mean us", "share",     "grid",
                                       "block", "regs",     "shared",  "occupancy", "kernel"};
    columns table = {.align = "rrrrrrrrrl"};
    for (size_t i = 0; i < sizeof head / sizeof *head; ++i)
        columns_add(&table, "%s", head[i]);
    for (int64_t i = 0; i < lines->count; ++i)
        add_line(&table, &lines->line[i], limits);
    return columns_print(&table, to, 2);
}

/* The rate of the operator's work in the time that the device was busy. */
static void put_rates(FILE *to, const profile_table *table, int32_t calls, const assay_work *work) {
    const double busy = table->total / calls; /* microseconds */
    fprintf(to, "  a call: %.2f us of the device", busy);
    if (work->read + work->written > 0)
        fprintf(to, ", %.1f GB/s and %.3f TFLOP/s of the operator's %.4g bytes and %.4g operations",
                (work->read + work->written) / busy / 1e3, work->flops / busy / 1e6,
                work->read + work->written, work->flops);
    fprintf(to, "\n  %d calls, first start to last end: %.2f us, %.1f %% of it busy\n", calls,
            table->span, 100 * table->total / table->span);
}

assay_status table_text(FILE *to, const profile_table *table, assay_stage stage, int32_t calls,
                        const assay_work *work, const profile_limits *limits) {
    fprintf(to, "\n%s\n", assay_stage_name(stage));
    if (table->count == 0) {
        fprintf(to, "  nothing ran on the device\n");
        return ASSAY_OK;
    }
    const assay_status status = put_lines(to, table, limits);
    put_rates(to, table, calls, work);
    return status;
}

/* ---- for programs ---- */

static void put_quoted(FILE *to, const char *text, char escape) {
    putc('"', to);
    for (; *text != '\0'; ++text) {
        if (*text == '"' || (escape == '\\' && *text == '\\'))
            putc(escape, to);
        putc(*text, to);
    }
    putc('"', to);
}

void table_csv_head(FILE *to) {
    fputs("stage,calls,total_us,mean_us,share,bytes,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
          "registers,static_shared,dynamic_shared,local,occupancy,limit,name\r\n",
          to);
}

void table_csv(FILE *to, const profile_table *table, assay_stage stage,
               const profile_limits *limits) {
    for (int64_t i = 0; i < table->count; ++i) {
        const profile_line *line = &table->line[i];
        const profile_record *k = &line->like;
        fprintf(to, "%s,%" PRId64 ",%.9g,%.9g,%.9g,%" PRIu64, assay_stage_name(stage), line->calls,
                line->total, line->total / (double)line->calls, line->share, line->bytes);
        if (is_kernel(line)) {
            const profile_occupancy o = occupancy_of(k, limits);
            fprintf(to, ",%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%.9g,%s,", k->grid[0], k->grid[1],
                    k->grid[2], k->block[0], k->block[1], k->block[2], k->registers,
                    k->static_shared, k->dynamic_shared, k->local, o.share, o.limit);
        } else {
            fputs(",,,,,,,,,,,,,", to);
        }
        put_quoted(to, k->name, '"');
        fputs("\r\n", to);
    }
}

static void put_object(FILE *to, const profile_line *line, const profile_limits *limits) {
    const profile_record *k = &line->like;
    fputs("      {\"name\": ", to);
    put_quoted(to, k->name, '\\');
    fprintf(to,
            ", \"calls\": %" PRId64 ", \"total_us\": %.9g, \"mean_us\": %.9g, \"share\": %.9g, "
            "\"bytes\": %" PRIu64,
            line->calls, line->total, line->total / (double)line->calls, line->share, line->bytes);
    if (is_kernel(line)) {
        const profile_occupancy o = occupancy_of(k, limits);
        fprintf(to,
                ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"registers\": %u, "
                "\"static_shared\": %u, \"dynamic_shared\": %u, \"local\": %u, \"occupancy\": "
                "%.9g, \"limit\": \"%s\"",
                k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2],
                k->registers, k->static_shared, k->dynamic_shared, k->local, o.share, o.limit);
    }
    fputs("}", to);
}

void table_json(FILE *to, const profile_table *table, assay_stage stage, int32_t calls,
                const assay_work *work, const profile_limits *limits) {
    fprintf(to,
            "    {\"stage\": \"%s\", \"calls\": %d, \"total_us\": %.9g, \"span_us\": %.9g, "
            "\"work_bytes\": %.17g, \"work_flops\": %.17g, \"kernels\": [",
            assay_stage_name(stage), calls, table->total, table->span, work->read + work->written,
            work->flops);
    for (int64_t i = 0; i < table->count; ++i) {
        fputs(i > 0 ? ",\n" : "\n", to);
        put_object(to, &table->line[i], limits);
    }
    fputs("]}", to);
}

/* ---- for ncu ---- */

/* Whether `word` is one of those that bars separate. */
static bool holds(const char *functions, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = functions; *at != '\0';) {
        const size_t n = strcspn(at, "|");
        if (n == length && memcmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

void table_functions(const profile_table *table, char *functions, size_t room) {
    for (int64_t i = 0; i < table->count; ++i) {
        char base[PROFILE_NAME];
        const size_t used = strlen(functions);
        kernel_base(table->line[i].like.name, base);
        if (is_kernel(&table->line[i]) && !holds(functions, base) &&
            used + strlen(base) + 2 <= room)
            snprintf(functions + used, room - used, "%s%s", used > 0 ? "|" : "", base);
    }
}
