/* A golden file as HDF5 sees it, with HDF5's own error stack kept off standard error. */
#ifndef ASSAY_GOLDEN_FILE_H
#define ASSAY_GOLDEN_FILE_H

#include "assay/status.h"

#include <hdf5.h>

#include <stddef.h>

typedef struct golden_file {
    hid_t id;
    const char *path;      /* the caller's; lives as long as this */
    H5E_auto2_t report;    /* how HDF5 printed errors before, restored on closing */
    void *report_argument; /* of `report` */
} golden_file;

assay_status golden_file_open(golden_file *file, const char *path) ASSAY_MUST_CHECK;

/* Replaces a value that is there. The layout of the file is fixed, and it holds no times. */
assay_status golden_file_create(golden_file *file, const char *path) ASSAY_MUST_CHECK;

/* How to create an object of that class (H5P_GROUP_CREATE) so that it holds no times; negative when
 * HDF5 cannot say so. */
hid_t golden_untimed(hid_t class);

/* Also says whether everything reached the file. Does nothing when it is closed already. */
assay_status golden_file_close(golden_file *file);

/* ASSAY_ERR_FILE: "path: place: what; remedy". */
assay_status golden_damaged(const golden_file *file, const char *place, const char *format, ...)
    ASSAY_PRINTF(3, 4);

#endif
