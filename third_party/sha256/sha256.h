/* public domain sha256 implementation based on fips180-3 */
#ifndef SHA256_H
#define SHA256_H

#include <stdint.h>

struct sha256 {
	uint64_t len;    /* processed message length */
	uint32_t h[8];   /* hash state */
	uint8_t buf[64]; /* message block buffer */
};

void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *m, unsigned long len);

/* Writes the 32 bytes of the digest to md; s must be initialised again before it is used again. */
void sha256_sum(struct sha256 *s, uint8_t *md);

#endif
