/*
 * SHA256SUMS, beside golden files: the SHA-256 of each as its writer left it, so that a change
 * which a file's own hashes do not show, since it was hashed again, shows here and in version
 * control. `sha256sum -c SHA256SUMS` reads it too.
 */
#ifndef ASSAY_GOLDEN_MANIFEST_H
#define ASSAY_GOLDEN_MANIFEST_H

#include "assay/status.h"

#define GOLDEN_MANIFEST "SHA256SUMS"

/* Puts the SHA-256 that a golden file has now into the list beside it, if there is one. */
assay_status golden_manifest_update(const char *path) ASSAY_MUST_CHECK;

#endif
