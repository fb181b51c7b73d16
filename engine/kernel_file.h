/*
 * A kernel file, a shared object that is not trusted, looked at from outside: it is not loaded. Its
 * path is opened once, and its bytes are copied into memory that no process can change. That
 * memory is hashed, and the variant's process loads that memory too, so that both are the same
 * bytes, even if the file changes.
 *
 * The same holds for the libraries that the file brings along. These are the libraries that it
 * needs (DT_NEEDED), if they lie in its own run path (DT_RUNPATH, DT_RPATH, with $ORIGIN) and
 * outside the system's folders. Libraries in the system's folders are not hashed.
 */
#ifndef ASSAY_ENGINE_KERNEL_FILE_H
#define ASSAY_ENGINE_KERNEL_FILE_H

#include "assay/status.h"
#include "engine/hash.h"

#include <stddef.h>
#include <stdint.h>

enum { KERNEL_SYMBOL = 256, KERNEL_PARTS = 32, KERNEL_NAME = 256, KERNEL_LOADED = 1024 };

/* The symbol that ASSAY_VARIANT gives a variant in a file. */
void kernel_file_symbol(const char *op, const char *name, const char *device,
                        char symbol[KERNEL_SYMBOL]);

typedef struct kernel_part {
    char name[KERNEL_NAME]; /* by which others need it */
    int file;               /* sealed, and inherited by the processes that this one starts */
    const char *image;
    size_t bytes;
} kernel_part;

typedef struct kernel_file {
    kernel_part
        part[KERNEL_PARTS]; /* in the order in which they are loaded, the file itself last */
    int32_t n_parts;
    char hash[HASH_TEXT];       /* of all of them */
    char loaded[KERNEL_LOADED]; /* the paths by which a child process loads them, with colons
                                   between them */
} kernel_file;

/* Reads `path`, which is a path even without a slash. ASSAY_ERR_FILE where a file cannot be read or
 * a library that it brings along has no DT_SONAME. */
assay_status kernel_file_open(kernel_file *k, const char *path) ASSAY_MUST_CHECK;
void kernel_file_close(kernel_file *k);

/* `symbol` as kernel_file_symbol() makes it. ASSAY_ERR_USAGE where it is a shared object without
 * that name in it. Other defects show when it is loaded. `path`: for the line. */
assay_status kernel_file_names(const kernel_file *k, const char *path,
                               const char *symbol) ASSAY_MUST_CHECK;

#endif
