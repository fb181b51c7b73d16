#include "engine/hash.h"

#include <errno.h>
#include <sha256.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIGEST = 32, BLOCK = 64 };

static void write_hex(const uint8_t digest[DIGEST], char text[HASH_TEXT]) {
    for (size_t i = 0; i < DIGEST; ++i)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

assay_status hash_file(const char *path, char hash[HASH_TEXT]) {
    unsigned char piece[1 << 14];
    uint8_t digest[DIGEST];
    struct sha256 s;
    size_t n;
    FILE *file = fopen(path, "rb");
    if (!file)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be read: %s", path, strerror(errno));
    sha256_init(&s);
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        sha256_update(&s, piece, n);
    const int failed = ferror(file);
    fclose(file);
    if (failed)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be read to its end", path);
    sha256_sum(&s, digest);
    write_hex(digest, hash);
    return ASSAY_OK;
}

void hash_bytes(const void *bytes, size_t count, char hash[HASH_TEXT]) {
    uint8_t digest[DIGEST];
    struct sha256 s;
    sha256_init(&s);
    if (count > 0)
        sha256_update(&s, bytes, count);
    sha256_sum(&s, digest);
    write_hex(digest, hash);
}

/* H((key ^ pad) | message) */
static void keyed(const unsigned char key[HASH_KEY], unsigned char pad, const void *bytes,
                  size_t count, uint8_t digest[DIGEST]) {
    unsigned char block[BLOCK];
    struct sha256 s;
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < HASH_KEY; ++i)
        block[i] ^= key[i];
    sha256_init(&s);
    sha256_update(&s, block, sizeof block);
    sha256_update(&s, bytes, count);
    sha256_sum(&s, digest);
}

void hash_seal(const unsigned char key[HASH_KEY], const void *bytes, size_t count,
               char seal[HASH_TEXT]) {
    uint8_t inner[DIGEST], outer[DIGEST];
    keyed(key, 0x36, bytes, count, inner);
    keyed(key, 0x5c, inner, sizeof inner, outer);
    write_hex(outer, seal);
}
