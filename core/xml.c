#include "core/xml.h"
#include "core/utf8.h"

/* XML 1.0 has no way to write other control characters: they are left out. */
void xml_text(FILE *to, const char *text) {
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text)) {
        if (code == '&')
            fputs("&amp;", to);
        else if (code == '<')
            fputs("&lt;", to);
        else if (code == '>')
            fputs("&gt;", to);
        else if (code == '"')
            fputs("&quot;", to);
        else if (code == '\t' || code == '\n' || code == '\r')
            fprintf(to, "&#%d;", (int)code);
        else if (code >= 0x20 && (code < 0x7F || code > 0x9F) && code != 0xFFFE && code != 0xFFFF)
            utf8_put(to, code);
    }
}
