/*
 * Fuzz targets: functions that take any bytes and stop the process when a promise is broken.
 * libFuzzer drives them where it is there; replay.c runs a corpus through them in every build.
 */
#ifndef ASSAY_FUZZ_H
#define ASSAY_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Every target file defines it; the name is libFuzzer's. Always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise: libFuzzer keeps the input, ctest sees a crash. */
#define FUZZ_EXPECT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* assay_error() after a failure: one line, not empty, that a terminal prints as it is. */
void fuzz_expect_line(void);

/* The path of a file that holds these bytes, for readers that want one; the same file each time,
 * removed at the end. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Spares readers of HDF5 most of what opening a file costs (hdf5.c); before they open one. */
void fuzz_hasten_hdf5(void);

#endif
