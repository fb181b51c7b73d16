#include "bench/report/escape.h"

#include "core/utf8.h"

#include <stdbool.h>
#include <string.h>

static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

void escape_terminal(FILE *to, const char *text) {
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text))
        utf8_put(to, is_control(code) ? '?' : code);
}

void escape_csv(FILE *to, const char *text) {
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, to);
        return;
    }
    putc('"', to);
    for (; *text != '\0'; ++text) {
        if (*text == '"')
            putc('"', to);
        putc(*text, to);
    }
    putc('"', to);
}

void escape_markdown(FILE *to, const char *text) {
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text)) {
        if (is_control(code))
            putc(' ', to);
        else if (code == '<')
            fputs("&lt;", to);
        else if (code == '&')
            fputs("&amp;", to);
        else {
            if (code < 0x80 && strchr("\\`*_{}[]#|~", (int)code) != NULL)
                putc('\\', to);
            utf8_put(to, code);
        }
    }
}

/* Control characters are no part of XML at all, nor are U+FFFE and U+FFFF. */
void escape_markup(FILE *to, const char *text) {
    for (uint32_t code = utf8_next(&text); code != 0; code = utf8_next(&text)) {
        if (is_control(code))
            putc(' ', to);
        else if (code == '<')
            fputs("&lt;", to);
        else if (code == '>')
            fputs("&gt;", to);
        else if (code == '&')
            fputs("&amp;", to);
        else if (code == '"')
            fputs("&quot;", to);
        else if (code == '\'')
            fputs("&#39;", to);
        else
            utf8_put(to, (code & 0xFFFE) == 0xFFFE ? UTF8_REPLACEMENT : code);
    }
}
