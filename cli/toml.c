#include "cli/toml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const char *name;
    int line;
    char *at;
    toml *t;
} parser;

static assay_status refuse(const parser *p, const char *what) {
    return assay_fail(ASSAY_ERR_USAGE, "%.200s, line %d: %s", p->name, p->line, what);
}

static void skip_blanks(parser *p) {
    while (*p->at == ' ' || *p->at == '\t')
        ++p->at;
}

/* Nothing but a comment may follow. */
static assay_status end_line(parser *p) {
    skip_blanks(p);
    return *p->at == '\0' || *p->at == '#'
               ? ASSAY_OK
               : refuse(p, "a line is KEY = VALUE or [[kernel]], and perhaps a comment");
}

/* ---- values ---- */

/* What stands for the character behind a backslash; 0: nothing that is known here. */
static char escaped(char c) {
    switch (c) {
    case '"':
    case '\\':
        return c;
    case 'n':
        return '\n';
    case 't':
        return '\t';
    }
    return 0;
}

/* The quote is replaced by the zero that ends the string. */
static assay_status take_string(parser *p, toml_entry *e) {
    const char quote = *p->at;
    char *to = ++p->at;
    if (p->at[0] == quote && p->at[1] == quote)
        return refuse(p, "strings of several lines are not read here; write it in one");
    e->value = to;
    e->kind = TOML_STRING;
    for (; *p->at != quote; ++p->at) {
        if (*p->at == '\0')
            return refuse(p, "the string does not end in its line");
        char c = *p->at;
        if (quote == '"' && c == '\\') {
            c = escaped(*++p->at);
            if (c == 0)
                return refuse(p, "of escapes only \\\" \\\\ \\n and \\t are read here");
        }
        *to++ = c;
    }
    ++p->at;
    *to = '\0';
    return ASSAY_OK;
}

static bool is_number(const char *text) {
    char *end;
    (void)strtod(text, &end);
    return (isdigit((unsigned char)*text) || *text == '-' || *text == '+') && *end == '\0';
}

/* A word without quotes. */
static assay_status take_plain(parser *p, toml_entry *e) {
    char *const end = p->at + strcspn(p->at, " \t#");
    e->value = p->at;
    p->at = end;
    const assay_status status = end_line(p);
    *end = '\0';
    const bool boolean = strcmp(e->value, "true") == 0 || strcmp(e->value, "false") == 0;
    e->kind = boolean ? TOML_BOOLEAN : TOML_NUMBER;
    if (status == ASSAY_OK && !boolean && !is_number(e->value))
        return refuse(p, "a value is a \"string\", a number, true or false");
    return status;
}

static assay_status take_value(parser *p, toml_entry *e) {
    skip_blanks(p);
    if (*p->at != '"' && *p->at != '\'')
        return take_plain(p, e);
    const assay_status status = take_string(p, e);
    return status == ASSAY_OK ? end_line(p) : status;
}

/* ---- lines ---- */

static assay_status add_table(parser *p, const char *name) {
    toml_table *grown = realloc(p->t->table, (size_t)(p->t->n_tables + 1) * sizeof *p->t->table);
    if (grown == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to read %.200s", p->name);
    p->t->table = grown;
    grown[p->t->n_tables++] = (toml_table){.name = name, .line = p->line};
    return ASSAY_OK;
}

static assay_status add_entry(parser *p, const toml_entry *e) {
    toml_table *table = &p->t->table[p->t->n_tables - 1];
    if (toml_find(table, e->key) != NULL)
        return assay_fail(ASSAY_ERR_USAGE, "%.200s, line %d: %.60s is there twice", p->name,
                          e->line, e->key);
    toml_entry *grown = realloc(table->entry, (size_t)(table->n_entries + 1) * sizeof *grown);
    if (grown == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to read %.200s", p->name);
    table->entry = grown;
    grown[table->n_entries++] = *e;
    return ASSAY_OK;
}

static bool is_of_key(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static char *take_key(parser *p) {
    char *const key = p->at;
    while (is_of_key(*p->at))
        ++p->at;
    return key;
}

static assay_status take_header(parser *p) {
    if (p->at[1] != '[')
        return refuse(p, "a table is [[kernel]], with two brackets");
    p->at += 2;
    char *const key = take_key(p), *const end = p->at;
    if (end == key || end[0] != ']' || end[1] != ']')
        return refuse(p, "a table is [[kernel]]: a name between two brackets on each side");
    p->at += 2;
    const assay_status status = end_line(p);
    *end = '\0';
    return status == ASSAY_OK ? add_table(p, key) : status;
}

static assay_status take_entry(parser *p) {
    toml_entry e = {.line = p->line};
    char *const key = take_key(p), *const end = p->at;
    skip_blanks(p);
    if (end == key || *p->at != '=')
        return refuse(p, "a line is KEY = VALUE or [[kernel]]");
    ++p->at;
    const assay_status status = take_value(p, &e);
    *end = '\0';
    e.key = key;
    return status == ASSAY_OK ? add_entry(p, &e) : status;
}

static assay_status take_line(parser *p) {
    skip_blanks(p);
    if (*p->at == '[')
        return take_header(p);
    return is_of_key(*p->at) ? take_entry(p) : end_line(p);
}

assay_status toml_parse(const char *name, char *text, toml *t) {
    *t = (toml){.text = text};
    parser p = {.name = name, .t = t};
    assay_status status = add_table(&p, "");
    for (char *line = text; status == ASSAY_OK && line != NULL;) {
        p.at = strsep(&line, "\n");
        ++p.line;
        const size_t length = strlen(p.at);
        if (length > 0 && p.at[length - 1] == '\r')
            p.at[length - 1] = '\0';
        status = take_line(&p);
    }
    return status;
}

const toml_entry *toml_find(const toml_table *table, const char *key) {
    for (int32_t i = 0; i < table->n_entries; ++i)
        if (strcmp(table->entry[i].key, key) == 0)
            return &table->entry[i];
    return NULL;
}

void toml_clear(toml *t) {
    for (int32_t i = 0; i < t->n_tables; ++i)
        free(t->table[i].entry);
    free(t->table);
    free(t->text);
    *t = (toml){0};
}
