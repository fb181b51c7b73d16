/* A table for people at a terminal: every column is as wide as its widest cell. */
#ifndef ASSAY_CORE_COLUMNS_H
#define ASSAY_CORE_COLUMNS_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct columns {
    const char *align; /* a letter for each column: l, r; a last column of l is not filled up */
    char **cell;       /* owned; row by row */
    int64_t count, room;
    bool no_memory;
} columns;

/* The next cell, of the row that is not full yet. Control characters become '?'. */
void columns_add(columns *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the rows, each indented, two blanks between columns, and clears the table. Prints nothing
 * and fails with ASSAY_ERR_MEMORY when a cell could not be kept. */
assay_status columns_print(columns *table, FILE *to, int indent) ASSAY_MUST_CHECK;

#endif
