/* The tables of sensitivity.h: by operator and mode, then by mode over all operators. */
#include "tests/evidence/sensitivity.h"

#include <inttypes.h>
#include <math.h>

static const char *math_text(const mode *m) {
    return m->math == ASSAY_TF32 ? ", tf32" : "";
}

static void put_heading(FILE *to, const char *title, const char *first) {
    fprintf(to, "\n%s\n\n| %s |", title, first);
    for (int m = 0; m < METHODS; ++m)
        fprintf(to, " %s |", method_name((method)m));
    fprintf(to, "\n|---|");
    for (int m = 0; m < METHODS; ++m)
        fprintf(to, "---|");
    fprintf(to, "\n");
}

/* The series that `of` names for each method. */
typedef struct line {
    int32_t series[METHODS];
} line;

static line line_of_alarms(void) {
    line l;
    for (int m = 0; m < METHODS; ++m)
        l.series[m] = sensitivity_alarm((method)m);
    return l;
}

static line line_of_fault(int kind) {
    line l;
    for (int m = 0; m < METHODS; ++m)
        l.series[m] = sensitivity_fault((method)m, (fault_kind)kind);
    return l;
}

static line line_of_error(int kind) {
    line l;
    for (int m = 0; m < METHODS; ++m)
        l.series[m] = sensitivity_error((method)m, (error_kind)kind);
    return l;
}

typedef void (*cell_writer)(const histogram *h, FILE *to);

static void put_share(const histogram *h, FILE *to) {
    if (h->count == 0)
        fprintf(to, " – |");
    else
        fprintf(to, " %" PRId64 "/%" PRId64 " |", histogram_positive(h), h->count);
}

static void put_size(double size, FILE *to) {
    if (isinf(size))
        fprintf(to, " never");
    else
        fprintf(to, " %.1e", size);
}

/* What half of the cases show, and what all of them do. */
static void put_sizes(const histogram *h, FILE *to) {
    if (h->count == 0) {
        fprintf(to, " – |");
        return;
    }
    put_size(histogram_quantile(h, 0.5), to);
    fprintf(to, ",");
    put_size(h->largest, to);
    fprintf(to, " |");
}

static bool is_empty(const ledger *l, const line *cells, int32_t place) {
    for (int m = 0; m < METHODS; ++m)
        if (ledger_at(l, place, cells->series[m])->count > 0)
            return false;
    return true;
}

/* The same of all operators, where there are several. */
static void put_total(const ledger *l, const line *cells, cell_writer put, const mode *like,
                      FILE *to) {
    histogram total[METHODS] = {0};
    int64_t count = 0;
    for (int32_t i = 0; i < l->modes->count; ++i) {
        const mode *m = &l->modes->mode[i];
        if (m->dtype != like->dtype || m->math != like->math)
            continue;
        for (int k = 0; k < METHODS; ++k) {
            histogram_merge(&total[k], ledger_at(l, i, cells->series[k]));
            count += total[k].count;
        }
    }
    if (count == 0)
        return;
    fprintf(to, "| all, %s%s |", assay_dtype_name(like->dtype), math_text(like));
    for (int k = 0; k < METHODS; ++k)
        put(&total[k], to);
    fprintf(to, "\n");
}

static void put_totals(const ledger *l, const line *cells, cell_writer put, FILE *to) {
    for (int dtype = 0; dtype < ASSAY_DTYPES; ++dtype)
        for (int math = ASSAY_STRICT; math <= ASSAY_TF32; ++math)
            put_total(l, cells, put, &(mode){.dtype = (assay_dtype)dtype, .math = (assay_math)math},
                      to);
}

static void put_modes(const ledger *l, const char *title, const line *cells, cell_writer put,
                      FILE *to) {
    put_heading(to, title, "operator, mode");
    for (int32_t i = 0; i < l->modes->count; ++i) {
        const mode *m = &l->modes->mode[i];
        if (is_empty(l, cells, i))
            continue;
        fprintf(to, "| `%s` %s%s |", m->op->name, assay_dtype_name(m->dtype), math_text(m));
        for (int k = 0; k < METHODS; ++k)
            put(ledger_at(l, i, cells->series[k]), to);
        fprintf(to, "\n");
    }
    put_totals(l, cells, put, to);
}

void sensitivity_table(const ledger *l, FILE *to) {
    char title[128];
    const line alarms = line_of_alarms();
    put_modes(l, "The correct kernel, rejected", &alarms, put_share, to);
    for (int kind = 0; kind < FAULT_KINDS; ++kind) {
        const line cells = line_of_fault(kind);
        snprintf(title, sizeof title, "Caught: %s", fault_name((fault_kind)kind));
        put_modes(l, title, &cells, put_share, to);
    }
    for (int kind = 0; kind < ERROR_KINDS; ++kind) {
        const line cells = line_of_error(kind);
        snprintf(title, sizeof title, "The smallest d caught in half of the cases, in all: %s",
                 error_name((error_kind)kind));
        put_modes(l, title, &cells, put_sizes, to);
    }
}
