#include "core/case_parse.h"

#include <stdio.h>
#include <string.h>

const char *assay_quote(const char *text, size_t length, char quoted[ASSAY_QUOTE]) {
    char *to = quoted;
    *to++ = '"';
    for (size_t i = 0; i < length && i < ASSAY_QUOTE_BYTES; ++i) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte >= ' ' && byte <= '~')
            *to++ = (char)byte;
        else
            to += snprintf(to, 5, "\\x%02x", byte);
    }
    strcpy(to, length > ASSAY_QUOTE_BYTES ? "\"..." : "\"");
    return quoted;
}
