/* The reading half of include/assay/golden.h. */
#include "core/place.h"
#include "golden/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

assay_status assay_golden_read(const char *path, const assay_case *c, assay_golden *golden) {
    golden_file file;
    golden_record record;
    *golden = (assay_golden){0};
    assay_status status = golden_file_open(&file, path);
    if (status != ASSAY_OK)
        return status;
    status = golden_load(&file, c, &record);
    golden_file_close(&file);
    if (status != ASSAY_OK)
        return status;
    *golden = record.golden;
    record.golden = (assay_golden){0};
    golden_record_clear(&record);
    return ASSAY_OK;
}

void assay_golden_clear(assay_golden *golden) {
    assay_problem_clear(&golden->problem);
    assay_results_clear(&golden->want);
    *golden = (assay_golden){0};
}

assay_status assay_golden_visit(const char *path, assay_golden_visitor visit, void *context) {
    golden_file file;
    assay_status status = golden_file_open(&file, path);
    if (status != ASSAY_OK)
        return status;
    status = golden_visit(&file, visit, context);
    golden_file_close(&file);
    return status;
}

assay_status assay_golden_path(const assay_op *op, char *path, size_t size) {
    char placed[PATH_MAX];
    const char *directory = getenv("ASSAY_GOLDEN_DIR");
    if (directory == NULL || *directory == '\0') {
        const assay_status status = assay_place("golden", placed);
        if (status != ASSAY_OK)
            return status;
        directory = placed;
    }
    const int length = snprintf(path, size, "%s/%s.h5", directory, op->name);
    if (length < 0 || (size_t)length >= size)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s/%s.h5: longer than %zu bytes; give ASSAY_GOLDEN_DIR a shorter path",
                          directory, op->name, size);
    return ASSAY_OK;
}
