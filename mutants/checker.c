#include "mutants/checker.h"
#include "core/clock.h"
#include "mutants/mutant_run.h"
#include "mutants/oracle_check.h"
#include "mutants/original.h"
#include "mutants/unit_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = BUILD_FOLDER + 256 };

static const char *const outcome_names[MUTANT_OUTCOMES] = {
    [MUTANT_PENDING] = "pending",       [MUTANT_KILLED] = "killed",
    [MUTANT_SURVIVED] = "survived",     [MUTANT_SAME_CODE] = "same code",
    [MUTANT_NO_PROGRAM] = "no program", [MUTANT_BROKEN] = "broken"};

const char *mutant_outcome_name(mutant_outcome outcome) {
    return outcome_names[outcome];
}

mutant_outcome mutant_outcome_find(const char *name) {
    int outcome = 0;
    while (outcome < MUTANT_OUTCOMES && strcmp(outcome_names[outcome], name) != 0)
        ++outcome;
    return (mutant_outcome)outcome;
}

/* ---- its files ---- */

static assay_status cannot(const char *path) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", path, strerror(errno));
}

static assay_status make_folders(const char *path) {
    char part[PATH_SIZE];
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return cannot(part);
    }
    return ASSAY_OK;
}

assay_status checker_init(checker *k, const builder *b, operator_cases *cases, int32_t n_cases,
                          int32_t number) {
    *k = (checker){.builder = b, .cases = cases, .n_cases = n_cases};
    snprintf(k->place, sizeof k->place, "%s/checker%d", b->work, (int)number);
    return mkdir(k->place, 0700) == 0 || errno == EEXIST ? ASSAY_OK : cannot(k->place);
}

static void overlay_path(const checker *k, const mutant *m, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/tree/%s", k->place, m->file->path);
}

static assay_status write_overlay(const checker *k, const mutant *m) {
    char path[PATH_SIZE];
    overlay_path(k, m, path);
    char *text = mutant_text(m);
    if (!text)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a mutant of %s", m->file->path);
    assay_status status = make_folders(path);
    FILE *file = status == ASSAY_OK ? fopen(path, "w") : NULL;
    if (status == ASSAY_OK && !file)
        status = cannot(path);
    if (file && fputs(text, file) < 0)
        status = cannot(path);
    if (file && fclose(file) != 0)
        status = cannot(path);
    free(text);
    return status;
}

static void remove_overlay(const checker *k, const mutant *m) {
    char path[PATH_SIZE];
    overlay_path(k, m, path);
    (void)unlink(path);
}

static void object_path(const checker *k, build_level level, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/mutant%d.so", k->place, (int)level);
}

/* ---- one level ---- */

/* One variant at one level; *same: its program is the original's. */
static assay_status check_level(checker *k, build_level level, const source_user *user,
                                mutant_result *result, bool *same) {
    char overlay[PATH_SIZE], object[PATH_SIZE], original[PATH_SIZE];
    mutant_run run = {.checker = k, .level = level, .user = user, .result = result};
    snprintf(overlay, sizeof overlay, "%s/tree", k->place);
    object_path(k, level, object);
    assay_status status =
        builder_compile(k->builder, level, user->op, user->variant, overlay, object);
    /* Where one build compiles a mutant and another one does not, it is not the mutant's fault: it
     * would be lost. */
    if (status == ASSAY_ERR_KERNEL && level == BUILD_QUICK) {
        result->outcome = MUTANT_NO_PROGRAM;
        snprintf(result->reason, LAYER_REASON, "%s", assay_error());
        return ASSAY_OK;
    }
    if (status == ASSAY_OK && level == BUILD_FULL) {
        status = original_find(k, level, user, original);
        if (status == ASSAY_OK)
            status = builder_same_code(object, original, same);
        if (status != ASSAY_OK || *same)
            return status;
    }
    if (status == ASSAY_OK)
        status =
            subject_open(&run.subject, k->builder, level, user, object, subject_seconds(level));
    if (status == ASSAY_OK)
        status = mutant_run_ask_all(&run);
    subject_close(&run.subject);
    return status;
}

/* ---- all stages ---- */

/* Of the many variants that a shared header has, some: compiling them takes minutes. */
static const int32_t most_users[BUILD_LEVELS] = {
    [BUILD_QUICK] = INT32_MAX, [BUILD_FULL] = 4, [BUILD_ASAN] = 2, [BUILD_RACE] = 2};

static assay_status check_users(checker *k, const mutant *m, build_level level, bool *same,
                                mutant_result *result) {
    assay_status status = ASSAY_OK;
    int32_t checked = 0;
    for (int32_t u = 0; u < m->file->n_users && status == ASSAY_OK; ++u) {
        if (result->outcome != MUTANT_PENDING || same[u] || checked == most_users[level])
            continue;
        status = check_level(k, level, &m->file->user[u], result, &same[u]);
        checked += !same[u];
    }
    return status;
}

static bool all_same(const mutant *m, const bool *same) {
    for (int32_t u = 0; u < m->file->n_users; ++u)
        if (!same[u])
            return false;
    return true;
}

static assay_status check_levels(checker *k, const mutant *m, bool *same, mutant_result *result) {
    assay_status status = ASSAY_OK;
    for (int level = 0; level < BUILD_LEVELS && status == ASSAY_OK; ++level) {
        if (!builder_has(k->builder, (build_level)level))
            continue;
        status = check_users(k, m, (build_level)level, same, result);
        if (status == ASSAY_OK && result->outcome == MUTANT_PENDING && all_same(m, same))
            result->outcome = MUTANT_SAME_CODE;
    }
    return status;
}

static assay_status check_kernel(checker *k, const mutant *m, bool *same, mutant_result *result) {
    const assay_status status = check_unit(k, m, result);
    return status == ASSAY_OK && result->outcome == MUTANT_PENDING
               ? check_levels(k, m, same, result)
               : status;
}

static assay_status check_file(checker *k, const mutant *m, mutant_result *result) {
    bool *same = calloc((size_t)m->file->n_users + 1, sizeof *same);
    if (!same)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a checker's notes");
    assay_status status = write_overlay(k, m);
    if (status == ASSAY_OK)
        status = m->file->oracle ? check_oracle(k, m, result) : check_kernel(k, m, same, result);
    remove_overlay(k, m);
    free(same);
    return status;
}

void check_mutant(checker *k, const mutant *m, mutant_result *result) {
    const double start = now();
    mutant_result own = {0}; /* others watch `result`: the outcome comes last */
    const assay_status status = check_file(k, m, &own);
    if (status != ASSAY_OK) {
        own.outcome = MUTANT_BROKEN;
        snprintf(own.reason, LAYER_REASON, "%s", assay_error());
    } else if (own.outcome == MUTANT_PENDING) {
        own.outcome = MUTANT_SURVIVED;
    }
    own.seconds = now() - start;
    *result = own;
}
