/*
 * The part of TOML (toml.io) that a list of settings needs: comments, `key = value` and
 * `[[table]]`. A value is a string in one line, a number, true or false. Anything else that TOML
 * has is refused by a line that names it.
 */
#ifndef ASSAY_CLI_TOML_H
#define ASSAY_CLI_TOML_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum toml_kind { TOML_STRING, TOML_NUMBER, TOML_BOOLEAN } toml_kind;

typedef struct toml_entry {
    const char *key, *value; /* of a number or boolean: as it is written */
    toml_kind kind;
    int line;
} toml_entry;

/* The first table has the lines before any `[[name]]`; its name is "". */
typedef struct toml_table {
    const char *name;
    int line;
    toml_entry *entry;
    int32_t n_entries;
} toml_table;

typedef struct toml {
    toml_table *table;
    int32_t n_tables;
    char *text; /* all strings lie in it */
} toml;

/* Takes over `text`, which ends with a zero, for free(). ASSAY_ERR_USAGE: its line begins with
 * `name`. */
assay_status toml_parse(const char *name, char *text, toml *t) ASSAY_MUST_CHECK;
void toml_clear(toml *t);

/* NULL: the table has no such key. */
const toml_entry *toml_find(const toml_table *table, const char *key);

#endif
