/* --suppress: problems that are known. */
#include "cli/exec.h"
#include "cli/text_file.h"
#include "sim/exec/suppress.h"

#include <stdlib.h>

assay_status exec_rules_read(const char *path, char **rules) {
    size_t size;
    assay_status status = text_file_read(path, "list of suppressions", SUPPRESS_TEXT, rules, &size);
    if (status == ASSAY_OK && *rules == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "--suppress %.300s: no such file", path);
    if (status == ASSAY_OK)
        status = exec_suppress_check(path, *rules);
    if (status == ASSAY_OK && setenv(EXEC_SUPPRESS_VARIABLE, *rules, 1) != 0)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for the environment");
    return status;
}

static bool is_used(const exec_report *r, int32_t line) {
    for (uint32_t i = 0; i < r->n_problems; ++i)
        if (r->problem[i].rule == line)
            return true;
    return false;
}

void exec_rules_unused(const exec_report *r, const char *path, const char *rules) {
    char rule[SUPPRESS_RULE];
    for (int32_t line = 1; exec_suppress_rule(rules, line, rule); ++line)
        if (rule[0] != '\0' && !is_used(r, line))
            fprintf(stderr, "assay exec: %s:%d: suppressed nothing: %s\n", path, line, rule);
}
