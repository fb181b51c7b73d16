#include "sim/ptx/tree.h"

#include <string.h>

static uint32_t hash(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name != '\0'; ++name)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static symbol **slot(const scope *s, const char *name) {
    uint32_t i = hash(name) & (s->capacity - 1);
    while (s->table[i] != NULL && strcmp(s->table[i]->name, name) != 0)
        i = (i + 1) & (s->capacity - 1);
    return &s->table[i];
}

static void grow(arena *a, scope *s) {
    symbol **old = s->table;
    const uint32_t n = s->capacity;
    s->capacity = n == 0 ? 16 : 2 * n;
    s->table = arena_take(a, s->capacity * sizeof(symbol *));
    for (uint32_t i = 0; i < n; ++i)
        if (old[i] != NULL)
            *slot(s, old[i]->name) = old[i];
}

symbol *scope_add(arena *a, scope *s, const char *name, symbol_kind kind) {
    if (2 * (s->n + 1) > s->capacity)
        grow(a, s);
    symbol **found = slot(s, name);
    if (*found != NULL)
        return NULL;
    symbol *added = arena_take(a, sizeof *added);
    *found = added;
    ++s->n;
    added->name = name;
    added->kind = kind;
    if (s->last != NULL)
        s->last->next = added;
    else
        s->first = added;
    return s->last = added;
}

/* "%r12" is register 12 of the family "%r", which is kept as "%r<". */
static symbol *find_family(const scope *s, const char *name, int64_t *number) {
    char stem[128];
    size_t n = strlen(name), digits = 0;
    while (digits < n && digits < 9 && name[n - 1 - digits] >= '0' && name[n - 1 - digits] <= '9')
        ++digits;
    if (digits == 0 || n - digits + 2 > sizeof stem || (digits > 1 && name[n - digits] == '0'))
        return NULL;
    memcpy(stem, name, n - digits);
    memcpy(&stem[n - digits], "<", 2);
    symbol *family = *slot(s, stem);
    int64_t value = 0;
    for (size_t i = n - digits; i < n; ++i)
        value = 10 * value + (name[i] - '0');
    if (family == NULL || value >= family->count)
        return NULL;
    *number = value;
    return family;
}

symbol *scope_own(const scope *s, const char *name) {
    return s->n > 0 ? *slot(s, name) : NULL;
}

symbol *scope_find(const scope *s, const char *name, int64_t *number) {
    for (; s != NULL; s = s->parent) {
        if (s->n == 0)
            continue;
        *number = -1;
        symbol *found = *slot(s, name);
        if (found == NULL)
            found = find_family(s, name, number);
        if (found != NULL)
            return found;
    }
    return NULL;
}
