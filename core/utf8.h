/* Text from anywhere, as valid Unicode. */
#ifndef ASSAY_CORE_UTF8_H
#define ASSAY_CORE_UTF8_H

#include <stdint.h>
#include <stdio.h>

enum { UTF8_REPLACEMENT = 0xFFFD };

/* The next code point, *text moved behind it; 0 at the end, U+FFFD for each byte that belongs to no
 * valid sequence (overlong forms and surrogates are not valid). */
uint32_t utf8_next(const char **text);

void utf8_put(FILE *to, uint32_t code);

#endif
