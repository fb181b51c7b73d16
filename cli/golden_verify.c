/* assay golden verify: every case of a golden file against our oracle and against the variants. */
#include "cli/golden.h"
#include "engine/golden.h"

#include <inttypes.h>
#include <string.h>

/* The tensors of one group that one opinion gave: what one line is printed for. */
typedef struct group {
    bool any;
    golden_line worst; /* the tensor of the worst verdict and, among these, of the largest ratio */
} group;

typedef struct verifier {
    const assay_cli_args *args;
    const assay_device *device;
    char path[CLI_GOLDEN_PATH];
    char text[ASSAY_CASE_TEXT];
    const assay_op *op;
    bool titled; /* the case's title is printed */
    group group;
    int64_t cases, lines, bad;
    bool any;
    assay_verdict verdict; /* of all lines; valid when any */
} verifier;

/* ---- lines ---- */

static void title(verifier *v) {
    if (!v->titled)
        fprintf(v->args->out.stream, "%s\n", v->text);
    v->titled = true;
}

static void note(verifier *v, assay_verdict verdict) {
    v->verdict = v->any ? assay_verdict_merge(v->verdict, verdict) : verdict;
    v->any = true;
}

static void print_repro(const verifier *v, const char *who) {
    FILE *to = v->args->out.stream;
    fprintf(to, "; assay golden verify %s", v->op->name);
    if (strcmp(who, "oracle") != 0 && strcmp(who, "generator") != 0)
        fprintf(to, "/%s", who);
    if (v->args->file != NULL)
        fprintf(to, " --file %s", v->args->file);
    fprintf(to, " --device %s\n", v->device->name);
}

static void print_line(verifier *v, const golden_line *line, const char *what) {
    FILE *to = v->args->out.stream;
    if (v->args->quiet && line->verdict == ASSAY_PASS)
        return;
    title(v);
    fputs("  ", to);
    assay_cli_print_verdict(&v->args->out, line->verdict, 10);
    fprintf(to, " %-9s", line->who);
    if (line->tensor[0] != '\0')
        fprintf(to, " against %-6s  %-9s  worst ratio %.3g, in %s", line->against, what,
                line->cmp.ratio, line->tensor);
    if (line->verdict == ASSAY_PASS) {
        fputc('\n', to);
        return;
    }
    fprintf(to, ": %s", line->reason);
    print_repro(v, line->who);
}

static void finish_group(verifier *v) {
    const golden_line *line = &v->group.worst;
    if (!v->group.any)
        return;
    print_line(v, line, line->group);
    note(v, line->verdict);
    ++v->lines;
    v->bad += line->verdict != ASSAY_PASS && line->verdict != ASSAY_SKIP;
    v->group = (group){0};
}

static bool same_group(const golden_line *a, const golden_line *b) {
    return strcmp(a->who, b->who) == 0 && strcmp(a->against, b->against) == 0 &&
           strcmp(a->group, b->group) == 0;
}

static bool worse(const golden_line *a, const golden_line *b) {
    return a->verdict != b->verdict ? a->verdict > b->verdict : a->cmp.ratio > b->cmp.ratio;
}

static void visit_line(const golden_line *line, void *context) {
    verifier *v = context;
    if (v->group.any && !same_group(line, &v->group.worst))
        finish_group(v);
    if (!v->group.any || worse(line, &v->group.worst))
        v->group.worst = *line;
    v->group.any = true;
    if (v->args->verbose)
        print_line(v, line, line->tensor);
}

/* ---- a case ---- */

/* The golden values' own: what the source may have published. --verbose: of every tensor. */
static void print_norms(verifier *v, const assay_golden *g) {
    const assay_signature *sig = &g->problem.sig;
    FILE *to = v->args->out.stream;
    if (v->args->quiet)
        return;
    title(v);
    fprintf(to, "  from %s\n ", g->source);
    for (int32_t o = 0; o < sig->n_out; ++o)
        if (g->want.out.data[o] != NULL)
            fprintf(to, " ‖%s‖ = %.15g", sig->out[o].name,
                    assay_norm2(g->want.out.data[o], g->want.out.size[o]));
    for (int32_t i = 0; i < (v->args->verbose ? sig->n_in : 1); ++i)
        if (g->want.grad.data[i] != NULL)
            fprintf(to, " ‖d%s‖ = %.15g", sig->in[i].name,
                    assay_norm2(g->want.grad.data[i], g->want.grad.size[i]));
    fputc('\n', to);
}

static bool wants_variant(const verifier *v, const char *name) {
    if (v->args->n_targets == 0)
        return true;
    for (int32_t i = 0; i < v->args->n_targets; ++i) {
        const assay_cli_target *t = &v->args->target[i];
        if (t->op == v->op && (t->variant == NULL || strcmp(t->variant, name) == 0))
            return true;
    }
    return false;
}

static assay_status check_opinions(verifier *v, const golden_check *check) {
    const int64_t before = v->lines;
    assay_status status = golden_check_oracle(check, visit_line, v);
    finish_group(v);
    if (status == ASSAY_OK && v->lines == before)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s: holds no results to compare; generate it again",
                          v->path, v->text);
    if (status == ASSAY_OK)
        status = golden_check_variants(check, visit_line, v);
    finish_group(v);
    return status;
}

enum { MAX_VARIANTS = 64 };

/* The names of the variants to run. */
static int32_t wanted_variants(const verifier *v, const char *names[MAX_VARIANTS]) {
    int32_t n = 0;
    for (int32_t i = 0; i < v->device->n_variants && n < MAX_VARIANTS; ++i) {
        const assay_variant *variant = v->device->variants[i];
        if (strcmp(variant->op, v->op->name) == 0 && wants_variant(v, variant->name))
            names[n++] = variant->name;
    }
    return n;
}

static assay_status verify_case(verifier *v, const char *text) {
    golden_check check;
    assay_case c;
    assay_status status = assay_case_parse(text, &c);
    if (status != ASSAY_OK)
        return status;
    snprintf(v->text, sizeof v->text, "%s", text);
    v->op = c.op;
    v->titled = false;
    if (!golden_wants_op(v->args, c.op))
        return ASSAY_OK;
    const char *names[MAX_VARIANTS];
    const int32_t n = wanted_variants(v, names);
    assay_cli_progress("%s", text);
    status = golden_check_init(&check, v->path, &c, n > 0 ? v->device : NULL, names, n);
    assay_cli_progress("%s", "");
    if (status != ASSAY_OK)
        return status;
    ++v->cases;
    print_norms(v, &check.golden);
    status = check_opinions(v, &check);
    golden_check_clear(&check);
    return status;
}

/* ---- the files ---- */

static void complain(verifier *v, assay_status status) {
    assay_cli_complain(status);
    note(v, ASSAY_ERROR);
}

/* A case that cannot be read is an error; the others are verified all the same. */
static assay_status visit_case(const char *text, const char *source, bool foreign, void *context) {
    verifier *v = context;
    (void)source;
    (void)foreign;
    if (assay_cli_interrupted())
        return ASSAY_OK;
    const assay_status status = verify_case(v, text);
    if (status != ASSAY_OK)
        complain(v, status);
    return ASSAY_OK;
}

static void verify_file(verifier *v, const assay_op *op) {
    bool listed;
    assay_status status = golden_file_of(v->args, op, v->path);
    if (status == ASSAY_OK)
        status = assay_golden_visit(v->path, visit_case, v);
    if (status == ASSAY_OK)
        status = assay_golden_check_listed(v->path, &listed);
    if (status != ASSAY_OK)
        complain(v, status);
}

static assay_exit exit_code(const verifier *v) {
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    if (!v->any)
        return ASSAY_EXIT_NOTHING;
    switch (v->verdict) {
    case ASSAY_PASS:
        return ASSAY_EXIT_PASSED;
    case ASSAY_SKIP:
        return ASSAY_EXIT_NOTHING;
    case ASSAY_MISTRUSTED:
    case ASSAY_FAIL:
        return ASSAY_EXIT_FAILED;
    case ASSAY_ERROR:
        break;
    }
    return ASSAY_EXIT_ERROR;
}

assay_exit golden_verify(const assay_cli_args *args) {
    verifier v = {.args = args};
    const assay_status status = assay_cli_open_device(args, &v.device);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        if (!golden_wants_op(args, assay_op_at(i)))
            continue;
        verify_file(&v, assay_op_at(i));
        if (args->file != NULL)
            break; /* it has been verified, whatever operators it holds */
    }
    fprintf(args->out.stream,
            "%" PRId64 " golden cases on %s: %" PRId64 " of %" PRId64 " groups of tensors right\n",
            v.cases, v.device->name, v.lines - v.bad, v.lines);
    return exit_code(&v);
}
