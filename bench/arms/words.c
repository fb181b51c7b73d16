#include "bench/arms/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t";

char *words_next(words *w) {
    char *word = w->rest + strspn(w->rest, blanks);
    if (*word == '\0')
        return NULL;
    char *end = word + strcspn(word, blanks);
    w->rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

assay_status words_text(words *w, const char *what, char **text) {
    *text = words_next(w);
    return *text ? ASSAY_OK : assay_fail(ASSAY_ERR_USAGE, "%s is missing", what);
}

assay_status words_integer(words *w, const char *what, int64_t low, int64_t high, int64_t *value) {
    char *text, *end;
    const assay_status status = words_text(w, what, &text);
    if (status != ASSAY_OK)
        return status;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < low || number > high)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s is an integer from %" PRId64 " to %" PRId64 ", not '%.40s'", what,
                          low, high, text);
    *value = number;
    return ASSAY_OK;
}

assay_status words_end(words *w) {
    const char *more = words_next(w);
    return more ? assay_fail(ASSAY_ERR_USAGE, "unexpected words: '%.40s'", more) : ASSAY_OK;
}
