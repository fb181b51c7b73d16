/*
 * assay_arm_case TEXT: reads a case for assay_arm, which holds no oracle and so no operators'
 * definitions (bench/arms/form.h).
 */
#include "bench/arms/form.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "assay_arm_case is started by assay_arm: see docs/bench.md\n");
        return 2;
    }
    if (form_write(stdout, argv[1]) == ASSAY_OK)
        return 0;
    fprintf(stderr, "%s\n", assay_error());
    return 3;
}
