/*
 * Bounds that grow. A bound that is too wide fails no right kernel, and lets wrong ones pass; only
 * one that is far too wide lets trivial solutions pass as well, and cases be mistrusted. So what
 * right kernels make of it is written down: tightness.txt has, for every tensor of every operator
 * and mode, a ratio error / bound that its smoke cases must reach. A change that makes a bound
 * wider, or kernels so exact that a bound could be narrower, changes that file and says why.
 *
 *     operator mode tensor ratio      half of what was measured; layers' numbers left out
 *
 * ASSAY_TIGHTNESS=FILE writes what is measured, as lines for it.
 */
#include "assay/device.h"
#include "assay/op.h"
#include "engine/check.h"
#include "tests/shim/assay_test.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 512, NAME = 96, KIND = 48 };

typedef struct line {
    char name[NAME]; /* "attention bf16 dq" */
    double ratio;
} line;

typedef struct page {
    line line[MOST_LINES];
    int32_t count;
} page;

static line *find(page *p, const char *name) {
    for (int32_t i = 0; i < p->count; ++i)
        if (strcmp(p->line[i].name, name) == 0)
            return &p->line[i];
    return NULL;
}

static line *add(page *p, const char *name) {
    line *found = find(p, name);
    if (found)
        return found;
    REQUIRE(p->count < MOST_LINES);
    found = &p->line[p->count++];
    *found = (line){.ratio = 0};
    snprintf(found->name, sizeof found->name, "%s", name);
    return found;
}

/* ---- what was written down ---- */

static void read_page(page *p) {
    char text[256], op[NAME], mode[NAME], tensor[NAME], name[NAME];
    double ratio;
    FILE *file = fopen(ASSAY_TIGHTNESS_FILE, "r");
    REQUIRE_MSG(file, "no %s", ASSAY_TIGHTNESS_FILE);
    *p = (page){.count = 0};
    while (fgets(text, sizeof text, file)) {
        if (text[0] == '#')
            continue;
        REQUIRE_MSG(sscanf(text, "%31s %15s %47s %lf", op, mode, tensor, &ratio) == 4,
                    "tightness.txt: %s", text);
        snprintf(name, sizeof name, "%.31s %.15s %.47s", op, mode, tensor);
        add(p, name)->ratio = ratio;
    }
    fclose(file);
}

/* ---- what is ---- */

/* Tensors of one kind are bounded alike: "dlayers.0.ln1.weight" is "dlayers.ln.weight". */
static void kind_of(const char *tensor, char kind[KIND]) {
    size_t n = 0;
    for (; *tensor != '\0' && n + 1 < KIND; ++tensor)
        if (!isdigit((unsigned char)*tensor) && *tensor != '_')
            kind[n++] = *tensor;
    kind[n] = '\0';
}

static void note(page *is, const assay_op *op, const assay_case *c, const assay_row *row) {
    char name[NAME], kind[48];
    kind_of(row->tensor, kind);
    snprintf(name, sizeof name, "%s %s%s %s", op->name, assay_dtype_name(c->params.dtype),
             c->params.math == ASSAY_TF32 ? ",tf32" : "", kind);
    line *l = add(is, name);
    l->ratio = fmax(l->ratio, row->cmp.ratio);
}

typedef struct survey {
    const assay_op *op;
    const assay_device *sim;
    page *is;
} survey;

static assay_status measure(const assay_case *c, void *context) {
    static const char *const ours[] = {"v1", "v3"}; /* v2 rounds as its library likes */
    survey *s = context;
    assay_report report;
    if (c->fill != ASSAY_FILL_NORMAL)
        return ASSAY_OK;
    const assay_status status = assay_check_numbers(c, s->sim, ours, 2, &report);
    if (status != ASSAY_OK)
        return status;
    for (int32_t r = 0; r < report.n_rows; ++r)
        if (report.rows[r].cmp.count > 0)
            note(s->is, s->op, c, &report.rows[r]);
    assay_report_clear(&report);
    return ASSAY_OK;
}

static void survey_op(const assay_op *op, page *is) {
    survey s = {.op = op, .is = is};
    *is = (page){.count = 0};
    REQUIRE_OK(assay_device_open("sim", &s.sim));
    REQUIRE_OK(assay_op_visit_set(op, ASSAY_SMOKE, measure, &s));
}

static void write_page(const page *is, const char *path) {
    FILE *file = fopen(path, "a");
    REQUIRE_MSG(file, "no %s", path);
    for (int32_t i = 0; i < is->count; ++i)
        fprintf(file, "%s %.2g\n", is->line[i].name, is->line[i].ratio / 2);
    fclose(file);
}

/* There the reference rounds as the kernel does, each BLAS in its own way; bounds have one formula
 * for all types. */
static bool is_fp64(const line *l) {
    return strstr(l->name, " f64 ") != NULL;
}

static void holds(void *context) {
    const assay_op *op = context;
    static page is, was;
    survey_op(op, &is);
    const char *path = getenv("ASSAY_TIGHTNESS");
    if (path)
        write_page(&is, path);
    read_page(&was);
    for (int32_t i = 0; i < is.count; ++i) {
        const line *now = &is.line[i], *then = find(&was, now->name);
        if (is_fp64(now))
            continue;
        CHECK_MSG(then, "tightness.txt has no line %s %.2g", now->name, now->ratio / 2);
        CHECK_MSG(!then || now->ratio >= then->ratio,
                  "%s: errors reach %.2g of their bounds, less than %.2g: the bound has grown",
                  now->name, now->ratio, then ? then->ratio : 0);
    }
}

__attribute__((constructor)) static void register_tightness(void) {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        char labels[64];
        snprintf(labels, sizeof labels, "check %s", op->name);
        assay_test_register("tightness", op->name, labels, holds, (void *)op);
    }
}
