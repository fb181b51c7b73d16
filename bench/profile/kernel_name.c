#include "bench/profile/kernel_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the C++ runtime. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

static bool opens(char c) {
    return c == '(' || c == '<' || c == '[';
}

static bool closes(char c) {
    return c == ')' || c == '>' || c == ']';
}

/* Where the parameter list that ends the text begins; the text's end when there is none. */
static size_t parameters(const char *text) {
    const size_t length = strlen(text);
    int depth = 0;
    if (length == 0 || text[length - 1] != ')')
        return length;
    for (size_t i = length; i-- > 0;) {
        depth += (text[i] == ')') - (text[i] == '(');
        if (depth == 0)
            return i;
    }
    return length;
}

/* Behind the last blank of the first `end` characters that no bracket encloses: the result's type
 * comes before it. */
static size_t name_start(const char *text, size_t end) {
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; i < end; ++i) {
        depth += opens(text[i]) - closes(text[i]);
        if (depth == 0 && text[i] == ' ')
            start = i + 1;
    }
    return start;
}

void kernel_name(const char *symbol, char name[PROFILE_NAME]) {
    char *plain = __cxa_demangle(symbol, NULL, NULL, &(int){0});
    const char *text = plain != NULL ? plain : symbol;
    const size_t end = plain != NULL ? parameters(text) : strlen(text);
    const size_t start = plain != NULL ? name_start(text, end) : 0;
    const size_t length = end - start, most = PROFILE_NAME - 4;
    snprintf(name, PROFILE_NAME, "%.*s%s", (int)(length <= most ? length : most), text + start,
             length <= most ? "" : "...");
    free(plain);
}

void kernel_base(const char *name, char base[PROFILE_NAME]) {
    const size_t length = strcspn(name, "<");
    const char *start = name;
    for (const char *c = strstr(name, "::"); c != NULL && c < name + length;
         c = strstr(c + 2, "::"))
        start = c + 2;
    snprintf(base, PROFILE_NAME, "%.*s", (int)(name + length - start), start);
}
