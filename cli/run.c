/* assay run: one variant on one case, and its tensors in a file. No oracle looks at them. */
#include "assay/compare.h"
#include "assay/state.h"
#include "cli/cases.h"
#include "engine/check.h"
#include "engine/memory.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <inttypes.h>
#include <string.h>

typedef struct run {
    const assay_cli_args *args;
    assay_case c;
    const assay_device *device;   /* NULL with --no-run */
    const assay_variant *variant; /* likewise */
    assay_problem problem;
    assay_results got; /* empty with --no-run */
    int32_t taken;     /* tensors that came from --in */
} run;

/* ---- before ---- */

/* The words, taken for themselves. */
static assay_status check_words(const assay_cli_args *args) {
    if (args->n_targets != 1 || args->n_words == 0)
        return assay_fail(ASSAY_ERR_USAGE, "run: name one operator's variant and its case by "
                                           "key=value words");
    if (args->target->variant == NULL && !args->no_run)
        return assay_fail(ASSAY_ERR_USAGE, "run: say which variant, as in %s/v1",
                          args->target->op->name);
    if (args->output == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "run: --out FILE says where the tensors go");
    return ASSAY_OK;
}

static assay_status choose_variant(run *r) {
    const assay_cli_target *target = r->args->target;
    if (r->args->no_run)
        return ASSAY_OK;
    const assay_status status = assay_cli_open_device(r->args, &r->device);
    if (status != ASSAY_OK)
        return status;
    r->variant = variant_find(r->device, target->op->name, target->variant);
    if (r->variant != NULL)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s", target->op->name,
                      target->variant, r->device->name);
}

static assay_status check_memory(const run *r) {
    assay_signature sig;
    assay_status status = r->c.op->signature(&r->c.params, &sig);
    if (status != ASSAY_OK)
        return status;
    status = assay_memory_suffices(&sig, r->args->no_run ? 0 : 1);
    assay_signature_clear(&sig);
    return status;
}

static assay_status prepare(run *r) {
    assay_status status = check_words(r->args);
    if (status == ASSAY_OK)
        status = cli_cases_choose_one(r->args, &r->c);
    if (status == ASSAY_OK)
        status = choose_variant(r);
    if (status == ASSAY_OK)
        status = check_memory(r);
    if (status == ASSAY_OK)
        status = assay_state_try(r->args->output);
    if (status == ASSAY_OK)
        status = assay_problem_load(&r->problem, &r->c);
    if (status == ASSAY_OK && r->args->input != NULL)
        status = assay_state_read(r->args->input, &r->problem, &r->taken);
    return status;
}

/* ---- after ---- */

static int widest(const assay_tensor_spec *specs, int32_t count, int width) {
    for (int32_t i = 0; i < count; ++i)
        width = (int)strlen(specs[i].name) > width ? (int)strlen(specs[i].name) : width;
    return width;
}

static void print_group(FILE *to, const char *group, const assay_tensor_spec *specs,
                        const assay_arrays *arrays, int width) {
    for (int32_t i = 0; i < arrays->count; ++i) {
        if (arrays->data[i] == NULL)
            continue;
        fprintf(to, "  %-4s  %-*s  (", group, width, specs[i].name);
        for (int32_t a = 0; a < specs[i].rank; ++a)
            fprintf(to, "%s%" PRId64, a > 0 ? ", " : "", specs[i].shape[a]);
        fprintf(to, ")  norm %.15g\n", assay_norm2(arrays->data[i], arrays->size[i]));
    }
}

/* Those that a file can give: inputs and cotangents. */
static int32_t count_given(const assay_problem *p) {
    int32_t count = p->in.count;
    for (int32_t o = 0; o < p->cot.count; ++o)
        count += p->cot.data[o] != NULL;
    return count;
}

static void print_tensors(const run *r) {
    const assay_signature *sig = &r->problem.sig;
    const int width = widest(sig->out, sig->n_out, widest(sig->in, sig->n_in, 0));
    FILE *to = r->args->out.stream;
    char text[ASSAY_CASE_TEXT];
    assay_case_format(&r->c, text);
    const char *words = text + strcspn(text, " ");
    if (r->args->no_run)
        fprintf(to, "%s\n", text);
    else
        fprintf(to, "%s/%s%s on %s\n", r->c.op->name, r->variant->name, words, r->device->name);
    if (r->args->input != NULL)
        fprintf(to, "%" PRId32 " of %" PRId32 " tensors from %s, the rest drawn\n", r->taken,
                count_given(&r->problem), r->args->input);
    print_group(to, "in", sig->in, &r->problem.in, width);
    print_group(to, "cot", sig->out, &r->problem.cot, width);
    print_group(to, "out", sig->out, &r->got.out, width);
    print_group(to, "grad", sig->in, &r->got.grad, width);
    if (!r->args->no_run)
        fprintf(
            to,
            "these results are not checked; to check the variant: assay check %s/%s%s --device %s\n",
            r->c.op->name, r->variant->name, words, r->device->name);
}

/* ---- the verb ---- */

static assay_status run_variant(run *r) {
    const assay_status status = assay_results_init(&r->got, &r->problem.sig);
    if (status != ASSAY_OK)
        return status;
    return assay_run(r->variant, r->device, &r->problem, &r->got);
}

assay_exit assay_cli_run(const assay_cli_args *args) {
    run r = {.args = args};
    assay_exit code = ASSAY_EXIT_PASSED;
    assay_status status = prepare(&r);
    if (status == ASSAY_OK && !args->no_run)
        status = run_variant(&r);
    if (status == ASSAY_OK && assay_cli_interrupted())
        code = ASSAY_EXIT_INTERRUPTED;
    else if (status == ASSAY_OK)
        status = assay_state_write(args->output, &r.problem, args->no_run ? NULL : &r.got);
    if (status != ASSAY_OK)
        code = assay_cli_complain(status);
    else if (code == ASSAY_EXIT_PASSED && !args->quiet)
        print_tensors(&r);
    assay_results_clear(&r.got);
    assay_problem_clear(&r.problem);
    return code;
}
