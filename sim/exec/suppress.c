#include "sim/exec/suppress.h"

#include "sim/ptx/name.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool exec_suppress_rule(const char *text, int32_t line, char rule[SUPPRESS_RULE]) {
    rule[0] = '\0';
    for (; line > 1; --line) {
        text = strchr(text, '\n');
        if (text == NULL)
            return false;
        ++text;
    }
    const char *begin = text + strspn(text, " \t\r");
    size_t length = strcspn(begin, "\n#");
    while (length > 0 && strchr(" \t\r", begin[length - 1]) != NULL)
        --length;
    snprintf(rule, SUPPRESS_RULE, "%.*s", (int)length, begin);
    return true;
}

/* Ends the rule's first word; returns the rest. */
static char *split(char *rule) {
    char *pattern = rule + strcspn(rule, " \t");
    if (*pattern != '\0')
        *pattern++ = '\0';
    return pattern + strspn(pattern, " \t");
}

static bool is_kind(const char *word) {
    for (int k = 0; k < EXEC_PROBLEM_KINDS; ++k)
        if (strcmp(word, exec_problem_name((exec_problem_kind)k)) == 0)
            return true;
    return strcmp(word, "*") == 0;
}

assay_status exec_suppress_check(const char *name, const char *text) {
    char rule[SUPPRESS_RULE], kinds[200] = "*";
    for (int32_t line = 1; exec_suppress_rule(text, line, rule); ++line) {
        (void)split(rule);
        if (rule[0] == '\0' || is_kind(rule))
            continue;
        for (int k = 0; k < EXEC_PROBLEM_KINDS; ++k) {
            const size_t used = strlen(kinds);
            snprintf(kinds + used, sizeof kinds - used, " %s",
                     exec_problem_name((exec_problem_kind)k));
        }
        return assay_fail(ASSAY_ERR_USAGE, "%.300s:%d: %.60s is no kind of problem; there are %s",
                          name, line, rule, kinds);
    }
    return ASSAY_OK;
}

/* A kernel's name without namespaces and arguments. */
static bool is_own_name(const char *pattern, const char *mangled) {
    char own[REPORT_NAME];
    const char *name;
    const int length = ptx_own_name(mangled, &name);
    snprintf(own, sizeof own, "%.*s", length, name);
    return fnmatch(pattern, own, 0) == 0;
}

static bool is_place(const char *pattern, const report_problem *p) {
    char file[REPORT_LINE], place[REPORT_LINE + 16];
    int32_t line;
    if (!exec_problem_place(p, file, &line))
        return false;
    snprintf(place, sizeof place, "%s:%d", file, line);
    const char *slash = strrchr(place, '/');
    return fnmatch(pattern, place, 0) == 0 ||
           (slash != NULL && fnmatch(pattern, slash + 1, 0) == 0);
}

static bool fits(const char *pattern, const report_problem *p) {
    return pattern[0] == '\0' || fnmatch(pattern, p->text, 0) == 0 || is_place(pattern, p) ||
           (p->kernel[0] != '\0' &&
            (fnmatch(pattern, p->kernel, 0) == 0 || is_own_name(pattern, p->kernel)));
}

int32_t exec_suppress_find(const char *text, const report_problem *p) {
    char rule[SUPPRESS_RULE];
    for (int32_t line = 1; exec_suppress_rule(text, line, rule); ++line) {
        const char *pattern = split(rule);
        if (rule[0] != '\0' &&
            (strcmp(rule, "*") == 0 || strcmp(rule, exec_problem_name(p->kind)) == 0) &&
            fits(pattern, p))
            return line;
    }
    return 0;
}
