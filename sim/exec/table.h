/* A map from pointers to pointers. All zeros is an empty one. */
#ifndef ASSAY_SIM_EXEC_TABLE_H
#define ASSAY_SIM_EXEC_TABLE_H

#include "assay/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct exec_table {
    struct exec_table_entry *entry;
    size_t used, room; /* room: a power of 2; used: with those that were removed */
} exec_table;

/* `value` is not NULL; it replaces the key's old one. ASSAY_ERR_MEMORY */
assay_status exec_table_put(exec_table *table, const void *key, void *value) ASSAY_MUST_CHECK;
void *exec_table_get(const exec_table *table, const void *key); /* NULL: there is none */
void exec_table_remove(exec_table *table, const void *key);

#endif
