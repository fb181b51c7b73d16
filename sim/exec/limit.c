#include "sim/exec/limit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Itanium's names: _Z 3add I..., _ZN 3foo 3add I... E; each identifier follows its length. */
int exec_limit_name(const char *mangled, const char **name) {
    const char *at = mangled;
    *name = mangled;
    if (strncmp(at, "_Z", 2) != 0)
        return (int)strlen(mangled);
    at += 2;
    while (*at == 'N' || *at == 'L' || *at == 'K')
        ++at;
    int length = 0;
    while (isdigit((unsigned char)*at)) {
        char *behind;
        const long n = strtol(at, &behind, 10);
        if (n <= 0 || (size_t)n > strlen(behind))
            break;
        *name = behind;
        length = (int)n;
        at = behind + n;
        while (*at == 'L')
            ++at;
    }
    return length > 0 ? length : (int)strlen(mangled);
}

static bool names(const char *rule, size_t n, const char *mangled) {
    const char *own;
    const size_t length = (size_t)exec_limit_name(mangled, &own);
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
