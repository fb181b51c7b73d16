/* What the tests of golden files share: a folder of their own, whole files, cases to write. */
#ifndef ASSAY_TESTS_GOLDEN_SUPPORT_H
#define ASSAY_TESTS_GOLDEN_SUPPORT_H

#include "assay/golden.h"

#include <stddef.h>

enum { GOLDEN_TEST_PATH = 256 };

/* A new folder, and "<folder>/case.h5". Tests that end early leave it behind in the system's
 * folder for temporary files. */
typedef struct golden_folder {
    char path[GOLDEN_TEST_PATH], file[GOLDEN_TEST_PATH + 16];
} golden_folder;

void golden_folder_init(golden_folder *folder);
void golden_folder_clear(golden_folder *folder);
/* How many files it holds. */
int golden_folder_count(const golden_folder *folder);

typedef struct golden_bytes {
    unsigned char *data;
    size_t size;
} golden_bytes;

golden_bytes golden_bytes_read(const char *path); /* freed by the caller */
void golden_bytes_write(const char *path, const unsigned char *data, size_t size);
bool golden_bytes_equal(const golden_bytes *a, const golden_bytes *b);

assay_case golden_case(const char *text);

/* A case with its data and our oracle's answers. */
typedef struct golden_sample {
    assay_problem problem;
    assay_reference reference;
} golden_sample;

void golden_sample_init(golden_sample *sample, const char *text);
void golden_sample_clear(golden_sample *sample);

/* Makes the case and writes it. */
void golden_write_text(const char *path, const char *text);

#endif
