/* The content of memory that a kernel must write, or must not touch: 0xFFA5, repeated, is a NaN in
 * every dtype, and no arithmetic gives that NaN. */
#ifndef ASSAY_ENGINE_PATTERN_H
#define ASSAY_ENGINE_PATTERN_H

#include <stddef.h>

/* Fills bytes from..to of a buffer whose byte 0 is at `bytes`. */
void pattern_fill(unsigned char *bytes, size_t from, size_t to);

/* The first of `count` bytes that is not the pattern's, or `count`. bytes[0] is byte `offset` of
 * its buffer. */
size_t pattern_breaks(const unsigned char *bytes, size_t offset, size_t count);

#endif
