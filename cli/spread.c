#include "cli/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    const char *op;
    assay_dtype dtype;
    char kind[ASSAY_TENSOR_NAME + 1];
    double ratio, resolution;
} sample;

static int by_value(double a, double b) {
    return (a > b) - (a < b);
}

static int by_group(const sample *a, const sample *b) {
    const int op = strcmp(a->op, b->op);
    if (op != 0)
        return op;
    return a->dtype != b->dtype ? (int)a->dtype - (int)b->dtype : strcmp(a->kind, b->kind);
}

static int by_ratio(const void *a, const void *b) {
    const sample *x = a, *y = b;
    const int group = by_group(x, y);
    return group != 0 ? group : by_value(x->ratio, y->ratio);
}

static int by_resolution(const void *a, const void *b) {
    const sample *x = a, *y = b;
    return by_value(x->resolution, y->resolution);
}

/* The value below which a share of `count` sorted samples lies, and its place. */
static int64_t place(int64_t count, double share) {
    return (int64_t)ceil(share * (double)count) - 1;
}

/* Columns for the operator, the dtype and the tensor, which stand below one title. */
typedef struct widths {
    int op, kind, all;
} widths;

enum { DTYPE = 5 /* the longest name of one, and a blank */ };
static const char title[] = "spread over random cases";

static int larger(int a, int b) {
    return a > b ? a : b;
}

static widths measure(const sample *samples, int64_t count) {
    widths w = {0};
    for (int64_t i = 0; i < count; ++i) {
        w.op = larger(w.op, (int)strlen(samples[i].op));
        w.kind = larger(w.kind, (int)strlen(samples[i].kind));
    }
    w.all = larger(w.op + 1 + DTYPE + w.kind, (int)strlen(title));
    return w;
}

static void put_head(FILE *to, widths w) {
    fprintf(to, "\n  %-*s  %8s  %-28s  %s\n", w.all, title, "tensors", "   error / bound",
            "bound / value (L2)");
    fprintf(to, "  %*s  %8s  %8s  %8s  %8s  %8s  %8s  %8s\n", w.all, "", "", "median", "p99", "max",
            "median", "p99", "max");
}

static void put_group(FILE *to, sample *first, int64_t count, widths w) {
    fprintf(to, "  %-*s %-*s%-*s  %8lld", w.op, first->op, DTYPE, assay_dtype_name(first->dtype),
            w.all - w.op - 1 - DTYPE, first->kind, (long long)count);
    fprintf(to, "  %8.2g  %8.2g  %8.2g", first[place(count, 0.5)].ratio,
            first[place(count, 0.99)].ratio, first[count - 1].ratio);
    qsort(first, (size_t)count, sizeof *first, by_resolution);
    fprintf(to, "  %8.1e  %8.1e  %8.1e\n", first[place(count, 0.5)].resolution,
            first[place(count, 0.99)].resolution, first[count - 1].resolution);
}

static bool in_bound_tier(const assay_report *report, const assay_row *row) {
    return row->cmp.count > 0 && !assay_fill_is_exact(report->c.fill);
}

/* Infinity stands for NaN, which sorts nowhere. */
static double sortable(double value) {
    return isnan(value) ? INFINITY : value;
}

assay_status spread_print(FILE *to, const cli_results *results) {
    int64_t count = 0, n = 0;
    for (int64_t i = 0; i < results->count; ++i)
        for (int32_t r = 0; r < results->report[i].n_rows; ++r)
            count += in_bound_tier(&results->report[i], &results->report[i].rows[r]);
    if (count == 0)
        return ASSAY_OK;
    sample *samples = malloc((size_t)count * sizeof *samples);
    if (samples == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the spread of %lld ratios",
                          (long long)count);
    for (int64_t i = 0; i < results->count; ++i) {
        const assay_report *report = &results->report[i];
        for (int32_t r = 0; r < report->n_rows; ++r) {
            const assay_row *row = &report->rows[r];
            if (!in_bound_tier(report, row))
                continue;
            sample *s = &samples[n++];
            *s = (sample){.op = report->c.op->name,
                          .dtype = row->dtype,
                          .ratio = sortable(row->cmp.ratio),
                          .resolution = sortable(row->cmp.resolution)};
            memcpy(s->kind, row->tensor, strcspn(row->tensor, "0123456789"));
        }
    }
    qsort(samples, (size_t)count, sizeof *samples, by_ratio);
    const widths w = measure(samples, count);
    put_head(to, w);
    for (int64_t first = 0, next; first < count; first = next) {
        for (next = first; next < count && by_group(&samples[first], &samples[next]) == 0;)
            ++next;
        put_group(to, samples + first, next - first, w);
    }
    putc('\n', to);
    free(samples);
    return ASSAY_OK;
}
