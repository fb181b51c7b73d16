#include "bench/report/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t words_operator(const char *text, size_t most) {
    const size_t length = strcspn(text, " ");
    return length < most ? length : most;
}

void words_after_operator(const char *text, char words[ASSAY_CASE_TEXT]) {
    text += strcspn(text, " ");
    snprintf(words, ASSAY_CASE_TEXT, "%s", text + strspn(text, " "));
}

static bool holds_word(const char *text, const char *word, size_t length) {
    for (size_t n; *text != '\0'; text += n) {
        text += strspn(text, " ");
        n = strcspn(text, " ");
        if (n == length && memcmp(text, word, n) == 0)
            return true;
    }
    return false;
}

static void filter(char words[ASSAY_CASE_TEXT], const char *text, bool shared) {
    char *to = words;
    size_t n;
    for (const char *from = words; *from != '\0'; from += n) {
        from += strspn(from, " ");
        n = strcspn(from, " ");
        if (n == 0 || holds_word(text, from, n) != shared)
            continue;
        if (to > words)
            *to++ = ' ';
        memmove(to, from, n);
        to += n;
    }
    *to = '\0';
}

void words_keep_shared(char words[ASSAY_CASE_TEXT], const char *text) {
    filter(words, text, true);
}

void words_drop(char words[ASSAY_CASE_TEXT], const char *text) {
    filter(words, text, false);
}

bool words_next(const char **text, words_pair *pair) {
    while (**text != '\0') {
        const char *word = *text + strspn(*text, " ");
        const size_t n = strcspn(word, " ");
        const char *equals = memchr(word, '=', n);
        *text = word + n;
        if (equals != NULL) {
            *pair = (words_pair){.key = word,
                                 .value = equals + 1,
                                 .key_length = (int)(equals - word),
                                 .value_length = (int)(word + n - equals - 1)};
            return true;
        }
    }
    return false;
}

void words_value(const char *text, const char *key, char value[ASSAY_CASE_TEXT]) {
    words_pair pair;
    value[0] = '\0';
    while (words_next(&text, &pair))
        if (strlen(key) == (size_t)pair.key_length &&
            memcmp(key, pair.key, (size_t)pair.key_length) == 0)
            snprintf(value, ASSAY_CASE_TEXT, "%.*s", pair.value_length, pair.value);
}

bool words_integer(const words_pair *pair, double *value) {
    for (int i = 0; i < pair->value_length; ++i)
        if (!isdigit((unsigned char)pair->value[i]))
            return false;
    *value = strtod(pair->value, NULL);
    return pair->value_length > 0 && pair->value_length < 16 && *value > 0;
}
