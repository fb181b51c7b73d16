/* The kernel files of a tree, and the files that include them. */
#ifndef ASSAY_MUTANTS_SOURCE_H
#define ASSAY_MUTANTS_SOURCE_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { SOURCE_PATH = 160 };

/* A variant that is compiled from a file. */
typedef struct source_user {
    const char *op, *variant; /* the device's own texts */
} source_user;

/* A file that is mutated. */
typedef struct source {
    char path[SOURCE_PATH]; /* from the tree's root: "kernels/rmsnorm/v3.cu" */
    char *text;
    source_user *user; /* in the order of the operators */
    int32_t n_users;
    bool device; /* of kernels/common/ or device/: several operators' */
    bool oracle; /* of oracles/ */
} source;

typedef struct sources {
    source *item;
    int32_t count, room;
} sources;

/* Adds the variant's own file and all that it includes of its operator's folder and of
 * kernels/common/ and device/. The simulated device (sim/) and code that only nvcc sees are left
 * out. */
assay_status sources_add(sources *all, const char *root, const char *op,
                         const char *variant) ASSAY_MUST_CHECK;
/* Adds the files of the operator's oracle, every .c file of oracles/<op>/. Their only
 * user is "oracle". */
assay_status sources_add_oracle(sources *all, const char *root, const char *op) ASSAY_MUST_CHECK;
void sources_clear(sources *all);

/* A whole file as text. */
assay_status source_read(const char *path, char **text) ASSAY_MUST_CHECK;

#endif
