/* JUnit XML as CI servers read it: a test case for the program's end, one for each kernel that ran,
 * and one for each problem that is no kernel's. */
#include "cli/exec.h"
#include "core/xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_of(const report_problem *p, const report_kernel *k) {
    return strncmp(p->kernel, k->name, REPORT_NAME - 1) == 0;
}

/* Of a kernel that ran. */
static bool has_row(const exec_report *r, const report_problem *p) {
    for (uint32_t i = 0; i < r->n_kernels; ++i)
        if (exec_is_used(&r->kernel[i]) && is_of(p, &r->kernel[i]))
            return true;
    return false;
}

static void put_begin(FILE *to, const char *class, const char *name, double seconds) {
    fputs("    <testcase classname=\"", to);
    xml_text(to, class);
    fputs("\" name=\"", to);
    xml_text(to, name);
    fprintf(to, "\" time=\"%.6f\">\n", seconds);
}

static void put_end(FILE *to) {
    fputs("    </testcase>\n", to);
}

/* `k`: a line for each problem of that kernel follows; NULL: the problem is none's. */
static void put_problem(FILE *to, const exec_report *r, const report_kernel *k,
                        const report_problem *p) {
    const char *element = p->rule == 0 ? "failure" : "skipped";
    fprintf(to, "      <%s type=\"%s\" message=\"", element, exec_problem_name(p->kind));
    xml_text(to, p->text);
    fputs("\">", to);
    for (uint32_t i = 0; k != NULL && i < r->n_problems; ++i)
        if (is_of(&r->problem[i], k)) {
            xml_text(to, r->problem[i].text);
            putc('\n', to);
        }
    fprintf(to, "</%s>\n", element);
}

/* One failure at most belongs to a test case: the first that is told, or the first. */
static const report_problem *worst_of(const exec_report *r, const report_kernel *k) {
    const report_problem *worst = NULL;
    for (uint32_t i = 0; i < r->n_problems; ++i)
        if (is_of(&r->problem[i], k) &&
            (worst == NULL || (worst->rule > 0 && r->problem[i].rule == 0)))
            worst = &r->problem[i];
    return worst;
}

typedef struct tally {
    int tests, failures, skipped;
} tally;

static void count(tally *t, const report_problem *p) {
    ++t->tests;
    t->failures += p != NULL && p->rule == 0;
    t->skipped += p != NULL && p->rule > 0;
}

static void put_kernel(FILE *to, const exec_report *r, const report_kernel *k,
                       const report_problem *p) {
    char *name = exec_demangle(k->name);
    put_begin(to, "kernel", name != NULL ? name : k->name, k->seconds);
    if (p != NULL)
        put_problem(to, r, k, p);
    put_end(to);
    free(name);
}

/* All but the program's end; counts, and writes where `to` is not NULL. */
static void walk(const exec_report *r, tally *t, FILE *to) {
    for (uint32_t i = 0; i < r->n_kernels; ++i) {
        const report_kernel *k = &r->kernel[i];
        if (!exec_is_used(k))
            continue;
        const report_problem *p = worst_of(r, k);
        count(t, p);
        if (to != NULL)
            put_kernel(to, r, k, p);
    }
    for (uint32_t i = 0; i < r->n_problems; ++i) {
        const report_problem *p = &r->problem[i];
        if (has_row(r, p))
            continue;
        count(t, p);
        if (to != NULL) {
            put_begin(to, exec_problem_name(p->kind), p->text, 0);
            put_problem(to, r, NULL, p);
            put_end(to);
        }
    }
}

static void put_program(FILE *to, const assay_cli_args *args, exec_end end) {
    put_begin(to, "program", args->program[0], 0);
    if (end.signal > 0)
        fprintf(to, "      <error type=\"signal\" message=\"ended by signal %d\"/>\n", end.signal);
    else if (end.code != 0)
        fprintf(to, "      <error type=\"exit\" message=\"returned %d\"/>\n", end.code);
    put_end(to);
}

void exec_junit(const exec_report *r, const assay_cli_args *args, exec_end end, FILE *to) {
    const int errors = end.code != 0 || end.signal > 0;
    char numbers[128];
    double seconds = 0;
    tally t = {.tests = 1};
    walk(r, &t, NULL);
    for (uint32_t i = 0; i < r->n_kernels; ++i)
        seconds += r->kernel[i].seconds;
    snprintf(numbers, sizeof numbers,
             "tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.6f\"", t.tests,
             t.failures, errors, t.skipped, seconds);
    fprintf(to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay exec\" %s>\n"
            "  <testsuite name=\"",
            numbers);
    xml_text(to, args->program[0]);
    fprintf(to, "\" %s>\n", numbers);
    put_program(to, args, end);
    walk(r, &t, to);
    fputs("  </testsuite>\n</testsuites>\n", to);
}
