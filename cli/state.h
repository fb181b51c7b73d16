/* Where certificates are kept, and the key that seals them. */
#ifndef ASSAY_CLI_STATE_H
#define ASSAY_CLI_STATE_H

#include "engine/certificate.h"

#include <limits.h>

/* $ASSAY_CERTIFICATES, otherwise assay/certificates in $XDG_STATE_HOME or ~/.local/state. Made
 * where it is missing. */
assay_status state_directory(char path[PATH_MAX]) ASSAY_MUST_CHECK;

/* The key in that folder; if there is no key, it is made, readable by the user alone. */
assay_status state_key(const char *directory, unsigned char key[HASH_KEY]) ASSAY_MUST_CHECK;

/* From now on this process, of which a copy goes on, finds that key empty, where the system allows
 * such a wall (sandbox.h). */
void state_conceal_key(void);

/* DIRECTORY/OP-VARIANT-DEVICE.cert; within a scope OP-VARIANT-DEVICE-forward-packed.cert */
assay_status state_certificate_path(const char *directory, const certificate_subject *subject,
                                    char path[PATH_MAX]) ASSAY_MUST_CHECK;

/* Reads a certificate. `exists` is false, and the status ASSAY_OK, when there is no such file. */
assay_status state_read(const char *path, const unsigned char key[HASH_KEY], bool *exists,
                        assay_certificate *c) ASSAY_MUST_CHECK;

/* Replaces the file as a whole. */
assay_status state_write(const char *path, const unsigned char key[HASH_KEY],
                         const assay_certificate *c) ASSAY_MUST_CHECK;

#endif
