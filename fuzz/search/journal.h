/*
 * A campaign's state as text, for --resume: its words and seed, its progress, its population and
 * its findings. The last line seals the lines before it, so that a cut or damaged file is noticed.
 */
#ifndef ASSAY_FUZZ_SEARCH_JOURNAL_H
#define ASSAY_FUZZ_SEARCH_JOURNAL_H

#include "fuzz/search/hunt.h"

#include <stdio.h>

/* `about`: one line that another campaign does not have. The text is for free(). */
assay_status fuzz_journal_format(const fuzz_state *state, const char *about, char **text,
                                 size_t *size) ASSAY_MUST_CHECK;

/* `path` is for messages. ASSAY_ERR_FILE when the text is not a journal, ASSAY_ERR_USAGE when it is
 * about another campaign. With `about` NULL any campaign is right. */
assay_status fuzz_journal_parse(fuzz_state *state, const char *about, int32_t n_targets,
                                const char *path, char *text, size_t size) ASSAY_MUST_CHECK;

#endif
