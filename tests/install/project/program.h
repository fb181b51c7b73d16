/* What both programs do: an oracle's own answers pass, and one wrong element does not. */
#include <assay/compare.h>
#include <assay/golden.h>
#include <assay/problem.h>

#include <stdio.h>

static int run(const char *text) {
    assay_case c;
    assay_problem problem;
    assay_reference reference;
    char path[4096];
    if (assay_case_parse(text, &c) != ASSAY_OK || assay_problem_init(&problem, &c) != ASSAY_OK ||
        assay_reference_init(&reference, &problem) != ASSAY_OK ||
        assay_golden_path(c.op, path, sizeof path) != ASSAY_OK) {
        fprintf(stderr, "%s\n", assay_error());
        return 3;
    }
    double *y = reference.want.out.data[0];
    const double *bound = reference.out_bound.element.data[0];
    const int64_t n = reference.want.out.size[0];
    const assay_comparison right = assay_compare(c.params.dtype, y, y, bound, n);
    const double wrong[] = {y[0] + 2 * bound[0]};
    const assay_comparison found = assay_compare(c.params.dtype, wrong, y, bound, 1);
    printf("%s %s %s\n", assay_verdict_name(right.verdict), assay_verdict_name(found.verdict),
           path);
    assay_reference_clear(&reference);
    assay_problem_clear(&problem);
    return 0;
}
