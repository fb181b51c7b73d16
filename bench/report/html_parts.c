#include "bench/report/escape.h"
#include "bench/report/format.h"
#include "bench/report/html.h"

#include <inttypes.h>
#include <math.h>

enum { MANY = 40 /* rows */ };

void html_element(FILE *to, const char *element, const char *class, const char *text) {
    fprintf(to, "<%s%s%s%s>", element, class[0] != '\0' ? " class=\"" : "", class,
            class[0] != '\0' ? "\"" : "");
    escape_markup(to, text);
    fprintf(to, "</%s>", element);
}

void html_table_open(FILE *to, const char *id, const char *caption) {
    fprintf(to,
            "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s\"><table>\n"
            "<caption id=\"%s\">",
            id, id);
    escape_markup(to, caption);
    fputs("</caption>\n", to);
}

void html_table_close(FILE *to) {
    fputs("</table></div>\n", to);
}

void html_columns(FILE *to, const char *const *name, int count) {
    fputs("<thead><tr>", to);
    for (int i = 0; i < count; ++i) {
        const bool number = name[i][0] == '>';
        fprintf(to, "<th scope=\"col\"%s>%s</th>", number ? " class=\"n\"" : "", name[i] + number);
    }
    fputs("</tr></thead>\n", to);
}

void html_verdict(FILE *to, const bench_ratio *ratio) {
    char interval[FORMAT_NUMBER];
    if (isnan(ratio->ratio)) {
        fputs("<td class=\"n\">-</td><td class=\"n\"></td><td></td>", to);
        return;
    }
    fprintf(to,
            "<td class=\"n\">%.2f\u00d7</td><td class=\"n\">%s</td>"
            "<td class=\"%s\"><span aria-hidden=\"true\">%s</span> %s</td>",
            ratio->ratio, format_interval(ratio, " to ", interval),
            bench_verdict_name(ratio->verdict), format_verdict_sign(ratio->verdict),
            bench_verdict_name(ratio->verdict));
}

void html_status(FILE *to, bench_status status) {
    fprintf(to, "<td class=\"%s\">%s</td>",
            status == BENCH_UNAVAILABLE || status == BENCH_OK ? "quiet" : "failed",
            bench_status_name(status));
}

void html_fold_open(FILE *to, int64_t rows, const char *summary) {
    fprintf(to, "<details%s><summary>", rows <= MANY ? " open=\"open\"" : "");
    escape_markup(to, summary);
    fprintf(to, " (%" PRId64 " row%s)</summary>\n", rows, rows == 1 ? "" : "s");
}

void html_fold_close(FILE *to) {
    fputs("</details>\n", to);
}
