/*
 * An operator that is not built in, from a shared object (assay/operator.h). It is an oracle, and
 * so it is loaded into the process that judges; no process that runs kernels sees it, not even as
 * an open file. Its bytes are read once, hashed and loaded, with the libraries that it
 * brings along (kernel_file.h).
 */
#ifndef ASSAY_ENGINE_OPERATOR_LIBRARY_H
#define ASSAY_ENGINE_OPERATOR_LIBRARY_H

#include "assay/op.h"
#include "engine/hash.h"

#include <limits.h>

typedef struct operator_library {
    const assay_op *op; /* NULL: no library is open */
    char path[PATH_MAX];
    char hash[HASH_TEXT];
    void *object;
} operator_library;

/* Loads it and adds its operator to the registry. One at a time. ASSAY_ERR_FILE, with the reason:
 * it is no shared object, damaged, made against another version, or its assay_op lacks something.
 */
assay_status operator_library_open(operator_library *l, const char *path) ASSAY_MUST_CHECK;
void operator_library_close(operator_library *l);

/* The open library, if the operator of that name is its own; otherwise NULL. */
const operator_library *operator_library_of(const char *op);

#endif
