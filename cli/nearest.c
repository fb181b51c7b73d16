#include "cli/nearest.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST_NAME = 63 };

static size_t min3(size_t a, size_t b, size_t c) {
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t edit_distance(const char *word, const char *name) {
    const size_t n = strlen(name);
    if (n > LONGEST_NAME)
        return SIZE_MAX;
    size_t row[LONGEST_NAME + 1]; /* distances of the word so far to each prefix of the name */
    for (size_t j = 0; j <= n; ++j)
        row[j] = j;
    for (size_t i = 1; word[i - 1] != '\0'; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; ++j) {
            const size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (word[i - 1] != name[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

void nearest_offer(const char *word, const char *name, const char **best) {
    if (*best == NULL || edit_distance(word, name) < edit_distance(word, *best))
        *best = name;
}

bool nearest_is_near(const char *word, const char *name) {
    const size_t wrong = edit_distance(word, name), w = strlen(word), n = strlen(name);
    return wrong != SIZE_MAX && 2 * wrong <= (w > n ? w : n);
}
