#include "mutants/unit_check.h"
#include "mutants/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = BUILD_FOLDER + 256 };

static const double unit_seconds = 60;

/* ---- which test ---- */

/* A file of tests/sim/ may also hold kernels for the tests of another one. */
static assay_status has_tests(const char *path, bool *found) {
    char *text = NULL;
    const assay_status status = source_read(path, &text);
    *found = status == ASSAY_OK && strstr(text, "\nASSAY_TEST(");
    free(text);
    return status;
}

assay_status unit_find(const char *root, const char *path, char name[UNIT_NAME], bool *found) {
    char file[PATH_SIZE], op[UNIT_NAME / 2], kind[UNIT_NAME / 2 - 1];
    int end = 0;
    *found = false;
    if (sscanf(path, "kernels/common/%63[^./].h%n", name, &end) == 1 && end > 0 && !path[end])
        ;
    else if (sscanf(path, "kernels/%31[^/]/%30[^_./]", op, kind) == 2)
        snprintf(name, UNIT_NAME, "%s_%s", kind, op);
    else
        return ASSAY_OK;
    snprintf(file, sizeof file, "%s/tests/sim/%s.cu", root, name);
    return access(file, R_OK) == 0 ? has_tests(file, found) : ASSAY_OK;
}

/* ---- running it ---- */

static void log_path(const checker *k, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/unit.log", k->place);
}

/* ASSAY_ERR_KERNEL: a test failed. It ends at the first check that does: a million others may, and
 * each would be kept and printed. */
static assay_status run_tests(const checker *k, const char *object) {
    char preload[PATH_SIZE + 16], program[BUILD_FOLDER + 32], log[PATH_SIZE];
    command c = {0};
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", object);
    builder_unit(k->builder, program);
    log_path(k, log);
    const char *words[] = {"env", preload, program, "--gtest_break_on_failure"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        command_add(&c, words[i]);
    const assay_status status = command_run(&c, log, unit_seconds);
    command_clear(&c);
    return status;
}

/* The test with the unchanged header passes; asked once by all checkers. */
static assay_status clear_original(const checker *k, const char *name) {
    char passed[PATH_SIZE], object[PATH_SIZE];
    snprintf(passed, sizeof passed, "%s/unit_%s.passed", k->builder->work, name);
    if (access(passed, R_OK) == 0)
        return ASSAY_OK;
    snprintf(object, sizeof object, "%s/unit_unchanged.so", k->place);
    assay_status status = builder_compile_test(k->builder, name, NULL, object);
    if (status == ASSAY_OK)
        status = run_tests(k, object);
    if (status != ASSAY_OK)
        return assay_fail(ASSAY_ERR_FILE,
                          "tests/sim/%s.cu does not pass with the unchanged header: %s", name,
                          assay_error());
    FILE *file = fopen(passed, "w");
    return file && fclose(file) == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "%s: %s", passed, strerror(errno));
}

/* ---- the verdict ---- */

void unit_read_log(FILE *log, char test[ASSAY_CASE_TEXT], char reason[LAYER_REASON]) {
    static const char begins[] = "[ RUN      ] ";
    char line[1024];
    test[0] = reason[0] = '\0';
    while (fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, begins, sizeof begins - 1) == 0)
            snprintf(test, ASSAY_CASE_TEXT, "%.500s", line + sizeof begins - 1);
        if (line[0])
            snprintf(reason, LAYER_REASON, "%.255s", line);
    }
}

static assay_status note_kill(const checker *k, const char *name, mutant_layer layer,
                              mutant_result *result) {
    char path[PATH_SIZE];
    log_path(k, path);
    FILE *log = fopen(path, "r");
    if (!log)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
    unit_read_log(log, result->by, result->reason);
    fclose(log);
    if (!result->by[0])
        return assay_fail(ASSAY_ERR_FILE, "no test of tests/sim/%s.cu begins: %s", name,
                          result->reason);
    result->outcome = MUTANT_KILLED;
    result->layer = layer;
    return ASSAY_OK;
}

static assay_status ask(const checker *k, const char *name, const char *object,
                        mutant_result *result) {
    const assay_status status = run_tests(k, object);
    if (status != ASSAY_ERR_KERNEL && status != ASSAY_ERR_UNSUPPORTED)
        return status;
    return note_kill(k, name, status == ASSAY_ERR_KERNEL ? LAYER_UNIT : LAYER_HANG, result);
}

assay_status check_unit(const checker *k, const mutant *m, mutant_result *result) {
    char name[UNIT_NAME], overlay[PATH_SIZE], object[PATH_SIZE];
    bool found;
    if (!builder_has_unit(k->builder))
        return ASSAY_OK;
    assay_status status = unit_find(k->builder->root, m->file->path, name, &found);
    if (status != ASSAY_OK || !found)
        return status;
    snprintf(overlay, sizeof overlay, "%s/tree", k->place);
    snprintf(object, sizeof object, "%s/unit.so", k->place);
    status = clear_original(k, name);
    if (status == ASSAY_OK)
        status = builder_compile_test(k->builder, name, overlay, object);
    if (status != ASSAY_ERR_KERNEL)
        return status == ASSAY_OK ? ask(k, name, object, result) : status;
    result->outcome = MUTANT_NO_PROGRAM;
    snprintf(result->reason, LAYER_REASON, "%.255s", assay_error());
    return ASSAY_OK;
}
