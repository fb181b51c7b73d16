/* The defects of a launch: the first is kept, the rest are counted. */
#ifndef ASSAY_SIM_DEFECT_H
#define ASSAY_SIM_DEFECT_H

#include "sim/runtime.h"

void sim_defects_begin(const sim_launch *launch);

/* ASSAY_OK, or ASSAY_ERR_KERNEL with the first defect's line. */
assay_status sim_defects_end(void) ASSAY_MUST_CHECK;

/* The first one's line; "": there was no defect. To take it from one process to another. */
typedef struct sim_defect_text {
    char kind[48];
    char line[1024];
    char file[512]; /* the source's path; "" */
    uint64_t more;  /* of the same kind */
} sim_defect_text;
const sim_defect_text *sim_defect_get(void);
void sim_defect_put(const sim_defect_text *text);

/* The path of the source of the first defect in the launch that ended last; the defect's line has
 * only the file's name. "": there was no defect, or its source is not known. */
const char *sim_defect_file(void);

/* A path without its folders. */
const char *sim_base_name(const char *path);

#endif
