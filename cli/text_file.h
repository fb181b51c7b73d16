/* Text files of the command's own, which it reads and replaces whole: certificates, the state of a
 * campaign. */
#ifndef ASSAY_CLI_TEXT_FILE_H
#define ASSAY_CLI_TEXT_FILE_H

#include "assay/status.h"

#include <stddef.h>

/* All of it, for free(), with a zero behind it; NULL, and ASSAY_OK, where there is no such file.
 * `what` says its kind, as "certificate"; a file of more than `most` bytes is refused. */
assay_status text_file_read(const char *path, const char *what, size_t most, char **text,
                            size_t *size) ASSAY_MUST_CHECK;

/* Leaves the old file or the new one. */
assay_status text_file_write(const char *path, const char *text, size_t size) ASSAY_MUST_CHECK;

#endif
