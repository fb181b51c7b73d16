#include "sim/exec/limit.h"

#include "sim/ptx/name.h"

#include <stdlib.h>
#include <string.h>

static bool names(const char *rule, size_t n, const char *mangled) {
    const char *own;
    const size_t length = (size_t)ptx_own_name(mangled, &own);
    if (n == 1 && *rule == '*')
        return true;
    return (n == strlen(mangled) && strncmp(rule, mangled, n) == 0) ||
           (n == length && strncmp(rule, own, n) == 0);
}

bool exec_limit_by(const char *rules, const char *mangled, uint64_t i) {
    for (const char *rule = rules; *rule != '\0'; rule += *rule == ',') {
        const size_t n = strcspn(rule, "=,");
        if (rule[n] == '=' && names(rule, n, mangled))
            return i < strtoull(rule + n + 1, NULL, 10);
        rule += strcspn(rule, ",");
    }
    return true;
}

bool exec_limit_allows(const char *mangled, uint64_t i) {
    const char *rules = getenv(EXEC_LIMIT_VARIABLE);
    return rules == NULL || exec_limit_by(rules, mangled, i);
}

assay_status exec_limit_check(const char *rules) {
    const char *rule = rules;
    do {
        const size_t n = strcspn(rule, "=,"),
                     digits = strspn(rule + n + (rule[n] == '='), "0123456789");
        if (n == 0 || rule[n] != '=' || digits == 0 || digits > 18 ||
            (rule[n + 1 + digits] != ',' && rule[n + 1 + digits] != '\0'))
            return assay_fail(ASSAY_ERR_USAGE,
                              "--launches %s: must be KERNEL=N, or several with commas between; * "
                              "is any kernel",
                              rules);
        rule += n + 1 + digits;
    } while (*rule++ == ',');
    return ASSAY_OK;
}
