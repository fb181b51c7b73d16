#include "sim/exec/table.h"

#include <stdlib.h>

/* A key without a value was removed, and is no end of a search. */
struct exec_table_entry {
    const void *key;
    void *value;
};

static size_t slot(const exec_table *t, const void *key) {
    size_t i = (size_t)(((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (t->room - 1);
    while (t->entry[i].key != NULL && t->entry[i].key != key)
        i = (i + 1) & (t->room - 1);
    return i;
}

static assay_status grow(exec_table *t) {
    const size_t room = t->room > 0 ? 2 * t->room : 64;
    exec_table larger = {.entry = calloc(room, sizeof *larger.entry), .room = room};
    if (larger.entry == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the program's objects");
    for (size_t i = 0; i < t->room; ++i)
        if (t->entry[i].value != NULL) {
            larger.entry[slot(&larger, t->entry[i].key)] = t->entry[i];
            ++larger.used;
        }
    free(t->entry);
    *t = larger;
    return ASSAY_OK;
}

assay_status exec_table_put(exec_table *t, const void *key, void *value) {
    if (2 * (t->used + 1) > t->room) {
        const assay_status status = grow(t);
        if (status != ASSAY_OK)
            return status;
    }
    struct exec_table_entry *e = &t->entry[slot(t, key)];
    t->used += e->key == NULL;
    *e = (struct exec_table_entry){key, value};
    return ASSAY_OK;
}

void *exec_table_get(const exec_table *t, const void *key) {
    return t->room > 0 && key != NULL ? t->entry[slot(t, key)].value : NULL;
}

void exec_table_remove(exec_table *t, const void *key) {
    if (t->room > 0 && key != NULL)
        t->entry[slot(t, key)].value = NULL;
}
