#include "mutants/oracle_check.h"
#include "mutants/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = BUILD_FOLDER + 256, MOST_FILES = 32 };

static const double suite_seconds = 120;

/* Tests of one operator, the quickest to find something first. $: the operator. */
static const struct {
    mutant_layer layer;
    const char *filter;
} stages[] = {
    {LAYER_GOLDEN, "golden.oracle $ *"},
    {LAYER_TWIN, "oracle.$.*"},
    {LAYER_CHECK, "check.$/v1 *on sim"},
    {LAYER_PROPERTY, "property.* $/v1 *on sim"},
    {LAYER_SUITE, "*$*-check.$/v1*:property.*:oracle.*:golden.oracle*:*on cuda*"},
};

/* The files of the oracle. */
static assay_status list_files(const checker *k, const mutant *m, sources *all,
                               const char *paths[MOST_FILES]) {
    const assay_status status = sources_add_oracle(all, k->builder->root, m->file->user[0].op);
    for (int32_t i = 0; status == ASSAY_OK && i < all->count && i < MOST_FILES; ++i)
        paths[i] = all->item[i].path;
    return status;
}

static void write_filter(const char *pattern, const char *op, char *to, size_t size) {
    size_t used = (size_t)snprintf(to, size, "--gtest_filter=");
    for (; *pattern && used < size; ++pattern)
        used += (size_t)snprintf(to + used, size - used, "%.*s", *pattern == '$' ? 48 : 1,
                                 *pattern == '$' ? op : pattern);
}

/* ASSAY_ERR_KERNEL: a test failed. */
static assay_status run_stage(const checker *k, const char *object, const char *op, size_t stage) {
    char preload[PATH_SIZE + 16], program[PATH_SIZE], filter[256], log[PATH_SIZE];
    command c = {0};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", object);
    snprintf(program, sizeof program, "%s/tests/assay_tests", k->builder->folder[BUILD_QUICK]);
    write_filter(stages[stage].filter, op, filter, sizeof filter);
    snprintf(log, sizeof log, "%s/tests.log", k->place);
    const char *words[] = {"env", preload, program, filter, "--gtest_brief=1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        command_add(&c, words[i]);
    const assay_status status = command_run(&c, log, suite_seconds);
    command_clear(&c);
    return status;
}

/* The unchanged oracle, grafted likewise, passes all of them; asked once by all checkers. */
static assay_status clear_original(const checker *k, const char *op, const char *const *paths,
                                   int32_t n_paths) {
    char passed[PATH_SIZE], object[PATH_SIZE];
    snprintf(passed, sizeof passed, "%s/%s.passed", k->builder->work, op);
    if (access(passed, R_OK) == 0)
        return ASSAY_OK;
    snprintf(object, sizeof object, "%s/unchanged.so", k->place);
    assay_status status =
        builder_graft(k->builder, op, paths, n_paths, NULL, NULL, k->place, object);
    for (size_t s = 0; s < sizeof stages / sizeof *stages && status == ASSAY_OK; ++s)
        status = run_stage(k, object, op, s);
    if (status != ASSAY_OK)
        return assay_fail(ASSAY_ERR_FILE, "the unchanged oracle of %s is found wrong too: %s", op,
                          assay_error());
    FILE *file = fopen(passed, "w");
    return file && fclose(file) == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "%s: %s", passed, strerror(errno));
}

static assay_status ask_all(const checker *k, const char *object, const char *op,
                            mutant_result *result) {
    for (size_t s = 0; s < sizeof stages / sizeof *stages; ++s) {
        const assay_status status = run_stage(k, object, op, s);
        if (status == ASSAY_OK)
            continue;
        if (status != ASSAY_ERR_KERNEL && status != ASSAY_ERR_UNSUPPORTED)
            return status;
        result->outcome = MUTANT_KILLED;
        result->layer = status == ASSAY_ERR_KERNEL ? stages[s].layer : LAYER_HANG;
        snprintf(result->variant, MUTANT_VARIANT, "%.40s/oracle", op);
        snprintf(result->reason, LAYER_REASON, "%.255s", assay_error());
        return ASSAY_OK;
    }
    return ASSAY_OK;
}

assay_status check_oracle(const checker *k, const mutant *m, mutant_result *result) {
    const char *op = m->file->user[0].op;
    const char *paths[MOST_FILES];
    char overlay[PATH_SIZE], object[PATH_SIZE];
    sources all = {0};
    snprintf(overlay, sizeof overlay, "%s/tree", k->place);
    snprintf(object, sizeof object, "%s/oracle.so", k->place);
    assay_status status = list_files(k, m, &all, paths);
    if (status == ASSAY_OK)
        status = clear_original(k, op, paths, all.count);
    if (status == ASSAY_OK)
        status = builder_graft(k->builder, op, paths, all.count, m->file->path, overlay, k->place,
                               object);
    if (status == ASSAY_ERR_KERNEL) {
        result->outcome = MUTANT_NO_PROGRAM;
        status = ASSAY_OK;
    } else if (status == ASSAY_OK) {
        status = ask_all(k, object, op, result);
    }
    sources_clear(&all);
    return status;
}
