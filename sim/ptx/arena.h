/* Memory that is freed all at once, and text that grows. Where memory is out, `failed` is called,
 * which does not return. */
#ifndef ASSAY_SIM_PTX_ARENA_H
#define ASSAY_SIM_PTX_ARENA_H

#include "assay/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

typedef struct arena_chunk arena_chunk;

typedef struct arena {
    arena_chunk *chunks;
    jmp_buf *out_of_memory; /* where to go */
} arena;

/* Zeroed, aligned to 16 bytes. */
void *arena_take(arena *a, size_t bytes);
char *arena_copy(arena *a, const char *text, size_t n);
char *arena_print(arena *a, const char *format, ...) ASSAY_PRINTF(2, 3);
char *arena_vprint(arena *a, const char *format, va_list args);
void arena_free(arena *a);

/* Text that grows in an arena, ended by a zero byte. */
typedef struct growing {
    char *text;
    size_t n, capacity;
} growing;

void text_put(arena *a, growing *t, const char *format, ...) ASSAY_PRINTF(3, 4);
void text_add(arena *a, growing *t, const char *text, size_t n);

#endif
