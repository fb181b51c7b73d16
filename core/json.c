#include "core/json.h"
#include "core/utf8.h"

#include <math.h>

void json_string(FILE *to, const char *text) {
    if (text == NULL) {
        fputs("null", to);
        return;
    }
    putc('"', to);
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text)) {
        if (code == '"' || code == '\\')
            fprintf(to, "\\%c", (int)code);
        else if (code < 0x20 || code == 0x7F)
            fprintf(to, "\\u%04x", code);
        else
            utf8_put(to, code);
    }
    putc('"', to);
}

void json_number(FILE *to, double value) {
    if (isfinite(value))
        fprintf(to, "%.17g", value);
    else
        json_string(to, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}
