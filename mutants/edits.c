#include "mutants/rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t count_lines(const char *text, size_t length) {
    int32_t lines = 0;
    for (size_t i = 0; i < length; ++i)
        lines += text[i] == '\n';
    return lines;
}

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the mutants of a source");
}

/* `text` with as many more line ends as `goes` has; frees `text`. */
static char *keep_lines(char *text, const char *goes, size_t length) {
    const size_t size = text ? strlen(text) : 0;
    const int32_t lines = count_lines(goes, length) - count_lines(text ? text : "", size);
    if (!text || lines <= 0)
        return text;
    char *longer = realloc(text, size + (size_t)lines + 1);
    if (!longer) {
        free(text);
        return NULL;
    }
    memset(longer + size, '\n', (size_t)lines);
    longer[size + (size_t)lines] = '\0';
    return longer;
}

static bool have_already(const edits *e, const edit *new) {
    for (int32_t i = 0; i < e->count; ++i)
        if (e->item[i].at == new->at &&
            e->item[i].length == new->length &&strcmp(e->item[i].text, new->text) == 0)
            return true;
    return false;
}

static edit *make_room(edits *e) {
    if (e->count == e->room) {
        const int32_t room = 2 * e->room + 256;
        edit *more = realloc(e->item, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        e->item = more;
        e->room = room;
    }
    return &e->item[e->count];
}

void edits_add(edits *e, phrase p, const char *format, ...) {
    const int32_t at = phrase_at(e->code, p), length = phrase_length(e->code, p);
    char *text = NULL;
    va_list arguments;
    if (e->status != ASSAY_OK)
        return;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    text = keep_lines(text, e->code->text + at, (size_t)length);
    edit *item = text ? make_room(e) : NULL;
    if (!item) {
        free(text);
        e->status = no_memory();
        return;
    }
    *item = (edit){.rule = e->rule,
                   .at = at,
                   .length = length,
                   .line = e->code->token[p.first].line,
                   .text = text};
    if (have_already(e, item))
        free(text);
    else
        ++e->count;
}

void edits_clear(edits *e) {
    for (int32_t i = 0; i < e->count; ++i)
        free(e->item[i].text);
    free(e->item);
    *e = (edits){0};
}
