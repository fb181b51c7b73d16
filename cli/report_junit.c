/* JUnit XML as CI servers read it: a suite for each operator, a test case for each case and
 * variant. A wrong or mistrusted number is a failure, a broken kernel or harness an error. */
#include "cli/report.h"
#include "core/xml.h"

#include <inttypes.h>

static void put_counts(FILE *to, const cli_tally *tally, bool edge) {
    fprintf(to,
            "tests=\"%" PRId64 "\" failures=\"%" PRId64 "\" errors=\"%" PRId64
            "\" skipped=\"%" PRId64 "\"",
            tally->total,
            tally->verdicts[ASSAY_FAIL] +
                (edge ? 0 : tally->verdicts[ASSAY_MISTRUSTED] - tally->of_sizes),
            tally->verdicts[ASSAY_ERROR], tally->verdicts[ASSAY_SKIP]);
}

/* Every row that is not a pass, a line each. */
static void put_problems(FILE *to, const cli_part *part) {
    for (int32_t r = 0; r < part->n_rows; ++r) {
        const assay_row *row = &part->rows[r];
        if (row->verdict == ASSAY_PASS)
            continue;
        xml_text(to, row->tensor[0] != '\0' ? row->tensor : row->variant);
        fputs(": ", to);
        xml_text(to, row->reason);
        if (row->why[0] != '\0') {
            fputs("\n  why: ", to);
            xml_text(to, row->why);
        }
        fputs("\n  ", to);
        xml_text(to, row->repro);
        putc('\n', to);
    }
}

/* `vain`: the case may prove nothing, and that is no failure. */
static void put_outcome(FILE *to, const cli_part *part, bool vain) {
    static const char *const elements[] = {
        [ASSAY_SKIP] = "skipped",
        [ASSAY_MISTRUSTED] = "failure",
        [ASSAY_FAIL] = "failure",
        [ASSAY_ERROR] = "error",
    };
    if (part->verdict == ASSAY_PASS || (vain && part->verdict == ASSAY_MISTRUSTED))
        return;
    const char *element = elements[part->verdict];
    fprintf(to, "      <%s type=\"%s\" message=\"", element, assay_verdict_name(part->verdict));
    xml_text(to, part->worst->reason);
    fputs("\">", to);
    put_problems(to, part);
    fprintf(to, "</%s>\n", element);
}

static void put_test(FILE *to, const cli_results *results, const assay_report *report,
                     const cli_part *part) {
    const char *phrase = scope_phrase(results->scope);
    int32_t variants = 0;
    for (cli_part p = {0}; report_next_part(report, &p);)
        ++variants;
    fputs("    <testcase classname=\"", to);
    xml_text(to, report->c.op->name);
    putc('.', to);
    xml_text(to, part->rows->variant);
    fputs("\" name=\"", to);
    xml_text(to, report->case_text);
    if (*phrase != '\0')
        fprintf(to, " (%s)", phrase);
    /* A report's time covers all its variants. */
    fprintf(to, "\" time=\"%.6f\">\n", report->seconds / variants);
    put_outcome(to, part, results->edge || report->c.exponent != 0);
    fputs("    </testcase>\n", to);
}

/* The parts that the verdicts leave out. */
static void put_scope(FILE *to, check_scope scope) {
    if (!scope.forward && !scope.packed)
        return;
    fputs("    <properties>\n", to);
    if (scope.forward)
        fputs("      <property name=\"stage\" value=\"forward\"/>\n", to);
    if (scope.packed)
        fputs("      <property name=\"layout\" value=\"packed\"/>\n", to);
    fputs("    </properties>\n", to);
}

/* The reports of one operator, which lie together. */
static void put_suite(FILE *to, const cli_results *suite) {
    const cli_tally tally = results_tally(suite);
    double seconds = 0;
    for (int64_t i = 0; i < suite->count; ++i)
        seconds += suite->report[i].seconds;
    fputs("  <testsuite name=\"", to);
    xml_text(to, suite->report[0].c.op->name);
    fputs("\" ", to);
    put_counts(to, &tally, suite->edge);
    fprintf(to, " time=\"%.6f\" timestamp=\"", seconds);
    xml_text(to, suite->environment->date);
    fputs("\">\n", to);
    put_scope(to, suite->scope);
    for (int64_t i = 0; i < suite->count; ++i)
        for (cli_part part = {0}; report_next_part(&suite->report[i], &part);)
            put_test(to, suite, &suite->report[i], &part);
    fputs("  </testsuite>\n", to);
}

void cli_report_junit(FILE *to, const cli_results *results) {
    const cli_tally tally = results_tally(results);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" ", to);
    put_counts(to, &tally, results->edge);
    fprintf(to, " time=\"%.6f\">\n", results->seconds);
    for (int64_t first = 0, next; first < results->count; first = next) {
        cli_results suite = *results;
        suite.report = results->report + first;
        for (next = first;
             next < results->count && results->report[next].c.op == results->report[first].c.op;)
            ++next;
        suite.count = next - first;
        put_suite(to, &suite);
    }
    fputs("</testsuites>\n", to);
}
