#include "sim/ptx/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16, ALIGN = 16 };

struct arena_chunk {
    arena_chunk *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

void *arena_take(arena *a, size_t bytes) {
    const size_t rounded = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    arena_chunk *c = a->chunks;
    if (rounded < bytes)
        longjmp(*a->out_of_memory, 1);
    if (c == NULL || c->size - c->used < rounded) {
        const size_t size = rounded > CHUNK ? rounded : CHUNK;
        c = size > SIZE_MAX - sizeof *c ? NULL : calloc(1, sizeof *c + size);
        if (c == NULL)
            longjmp(*a->out_of_memory, 1);
        c->size = size;
        c->next = a->chunks;
        a->chunks = c;
    }
    void *taken = c->bytes + c->used;
    c->used += rounded;
    return taken;
}

char *arena_copy(arena *a, const char *text, size_t n) {
    char *copy = arena_take(a, n + 1);
    memcpy(copy, text, n);
    return copy;
}

char *arena_vprint(arena *a, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = arena_take(a, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *arena_print(arena *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = arena_vprint(a, format, args);
    va_end(args);
    return text;
}

void arena_free(arena *a) {
    while (a->chunks != NULL) {
        arena_chunk *next = a->chunks->next;
        free(a->chunks);
        a->chunks = next;
    }
}

static void make_room(arena *a, growing *t, size_t n) {
    if (t->capacity - t->n > n)
        return;
    const size_t capacity = 2 * t->capacity + n + 256;
    char *grown = arena_take(a, capacity);
    if (t->n > 0)
        memcpy(grown, t->text, t->n);
    t->text = grown;
    t->capacity = capacity;
}

void text_add(arena *a, growing *t, const char *text, size_t n) {
    make_room(a, t, n);
    memcpy(t->text + t->n, text, n);
    t->n += n;
    t->text[t->n] = '\0';
}

void text_put(arena *a, growing *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    make_room(a, t, (size_t)n + 1);
    vsnprintf(t->text + t->n, (size_t)n + 1, format, args);
    t->n += (size_t)n;
    va_end(args);
}
