#include "tests/evidence/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

static size_t bytes_of(const ledger *l) {
    return (size_t)l->modes->count * (size_t)l->n_series * sizeof *l->page;
}

assay_status ledger_init(ledger *l, const modes *m, const char *const *series, int32_t n_series) {
    *l = (ledger){.modes = m, .n_series = n_series, .series = series};
    void *page =
        mmap(NULL, bytes_of(l) + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a ledger of %zu bytes", bytes_of(l));
    l->page = page;
    return ASSAY_OK;
}

void ledger_clear(ledger *l) {
    if (l->page)
        (void)munmap(l->page, bytes_of(l) + 1);
    *l = (ledger){0};
}

histogram *ledger_at(const ledger *l, int32_t place, int32_t series) {
    return &l->page[place * l->n_series + series];
}

void ledger_merge(ledger *to, const ledger *from) {
    for (int32_t i = 0; i < to->modes->count * to->n_series; ++i)
        histogram_merge(&to->page[i], &from->page[i]);
}

/* ---- files ---- */

static void write_line(FILE *to, const mode *m, const char *series, double value, int64_t count) {
    fprintf(to, "%s,%s,%s,%s,%.17g,%" PRId64 "\n", m->op->name, assay_dtype_name(m->dtype),
            assay_math_name(m->math), series, value, count);
}

static void write_bin(FILE *to, const mode *m, const char *series, double value, int64_t count) {
    if (count > 0)
        write_line(to, m, series, value, count);
}

static void write_histogram(FILE *to, const mode *m, const char *series, const histogram *h) {
    write_bin(to, m, series, 0, h->zeros);
    for (int32_t b = 0; b < HISTOGRAM_BINS; ++b)
        write_bin(to, m, series, histogram_value(b), h->bin[b]);
    write_bin(to, m, series, INFINITY, h->beyond);
    if (h->largest > 0)
        write_line(to, m, series, h->largest, 0);
}

void ledger_write(const ledger *l, FILE *to) {
    fprintf(to, "op,dtype,math,series,value,count\n");
    for (int32_t i = 0; i < l->modes->count; ++i)
        for (int32_t s = 0; s < l->n_series; ++s)
            write_histogram(to, &l->modes->mode[i], l->series[s], ledger_at(l, i, s));
}

typedef struct entry {
    char op[64], dtype[16], math[16], series[128];
    double value;
    int64_t count;
} entry;

/* The histogram that a line is about; NULL: none of the ledger's. */
static histogram *find(const ledger *l, const entry *e) {
    for (int32_t i = 0; i < l->modes->count; ++i) {
        const mode *m = &l->modes->mode[i];
        if (strcmp(m->op->name, e->op) != 0 || strcmp(assay_dtype_name(m->dtype), e->dtype) != 0 ||
            strcmp(assay_math_name(m->math), e->math) != 0)
            continue;
        for (int32_t s = 0; s < l->n_series; ++s)
            if (strcmp(l->series[s], e->series) == 0)
                return ledger_at(l, i, s);
    }
    return NULL;
}

/* As many as the line counts, in the bin that one of them falls into; its centre is not the largest
 * of what was there. */
static void add_entry(histogram *h, const entry *e) {
    if (e->count == 0) {
        h->largest = fmax(h->largest, e->value);
        return;
    }
    histogram one = {0};
    histogram_add(&one, e->value);
    h->count += e->count;
    h->zeros += one.zeros * e->count;
    h->beyond += one.beyond * e->count;
    for (int32_t b = 0; b < HISTOGRAM_BINS; ++b)
        h->bin[b] += one.bin[b] * e->count;
}

assay_status ledger_read(ledger *l, const char *path) {
    assay_status status = ASSAY_OK;
    char line[512];
    FILE *from = fopen(path, "r");
    if (!from)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
    if (!fgets(line, sizeof line, from))
        status = assay_fail(ASSAY_ERR_FILE, "%s is empty", path);
    while (status == ASSAY_OK && fgets(line, sizeof line, from)) {
        entry e;
        if (sscanf(line, "%63[^,],%15[^,],%15[^,],%127[^,],%lf,%" SCNd64, e.op, e.dtype, e.math,
                   e.series, &e.value, &e.count) != 6) {
            status = assay_fail(ASSAY_ERR_FILE, "%s: not a line of a ledger: %.60s", path, line);
            break;
        }
        histogram *h = find(l, &e);
        if (h)
            add_entry(h, &e);
    }
    fclose(from);
    return status;
}
