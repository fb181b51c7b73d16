/*
 * assay_arm_case TEXT: reads a case for assay_arm, which holds no oracle and so no operators'
 * definitions (bench/arms/form.h). $ASSAY_ARM_OPERATOR is the shared object of an operator that is
 * not built in.
 */
#include "bench/arms/form.h"
#include "engine/operator_library.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "assay_arm_case is started by assay_arm: see docs/bench.md\n");
        return 2;
    }
    static operator_library library;
    const char *own = getenv(ARM_OPERATOR);
    assay_status status = own ? operator_library_open(&library, own) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = form_write(stdout, argv[1]);
    operator_library_close(&library);
    if (status == ASSAY_OK)
        return 0;
    fprintf(stderr, "%s\n", assay_error());
    return 3;
}
