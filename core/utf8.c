#include "core/utf8.h"

#include <stdbool.h>

/* Bytes of the sequence that `lead` begins; 0: it begins none. */
static int sequence_length(unsigned char lead) {
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead < 0xE0)
        return 2;
    if (lead >= 0xE0 && lead < 0xF0)
        return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

static bool is_scalar(uint32_t code, int length) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return code >= least[length] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

uint32_t utf8_next(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    const int length = sequence_length(*s);
    if (length == 1) {
        *text += *s != 0;
        return *s;
    }
    uint32_t code = length > 0 ? *s & (0x7Fu >> length) : 0;
    int i = 1;
    for (; i < length && (s[i] & 0xC0) == 0x80; ++i)
        code = code << 6 | (s[i] & 0x3Fu);
    if (length == 0 || i < length || !is_scalar(code, length)) {
        ++*text;
        return UTF8_REPLACEMENT;
    }
    *text += length;
    return code;
}

void utf8_put(FILE *to, uint32_t code) {
    if (code < 0x80) {
        putc((int)code, to);
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes after the first */
    putc((int)((0xFF00u >> (more + 1) & 0xFFu) | code >> (6 * more)), to);
    for (int i = more - 1; i >= 0; --i)
        putc((int)(0x80u | (code >> (6 * i) & 0x3Fu)), to);
}
