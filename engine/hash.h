/* SHA-256 in hexadecimal, and the seal that is made of it. */
#ifndef ASSAY_ENGINE_HASH_H
#define ASSAY_ENGINE_HASH_H

#include "assay/status.h"

#include <stddef.h>

enum { HASH_TEXT = 65, HASH_KEY = 32 };

/* Of a whole file. ASSAY_ERR_FILE when it cannot be read. */
assay_status hash_file(const char *path, char hash[HASH_TEXT]) ASSAY_MUST_CHECK;

void hash_bytes(const void *bytes, size_t count, char hash[HASH_TEXT]);

/* HMAC-SHA256 (RFC 2104): only a holder of the key can make it. */
void hash_seal(const unsigned char key[HASH_KEY], const void *bytes, size_t count,
               char seal[HASH_TEXT]);

#endif
