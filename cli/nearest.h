/* Which legal word was meant. */
#ifndef ASSAY_CLI_NEAREST_H
#define ASSAY_CLI_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

/* Levenshtein distance; names longer than 63 bytes count as far away. */
size_t edit_distance(const char *word, const char *name);

/* Keeps in *best the nearer of it and `name`; start with *best == NULL. */
void nearest_offer(const char *word, const char *name, const char **best);

/* Whether the writer of `word` may have meant `name`: at most half of it is wrong. */
bool nearest_is_near(const char *word, const char *name);

#endif
