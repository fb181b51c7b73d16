#include "core/columns.h"
#include "core/utf8.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void columns_add(columns *table, const char *format, ...) {
    if (table->count == table->room) {
        const int64_t room = 2 * table->room + 64;
        char **more = realloc(table->cell, (size_t)room * sizeof *more);
        if (more == NULL) {
            table->no_memory = true;
            return;
        }
        table->cell = more;
        table->room = room;
    }
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    for (char *at = text; *at != '\0'; ++at)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    char *kept = strdup(text);
    table->no_memory = table->no_memory || kept == NULL;
    if (kept != NULL)
        table->cell[table->count++] = kept;
}

static int width_of(const char *text) {
    int width = 0;
    while (utf8_next(&text) != 0)
        ++width;
    return width;
}

static void put_cell(FILE *to, const char *text, char align, int width, bool last) {
    const int fill = width - width_of(text);
    if (align == 'r')
        fprintf(to, "%*s%s", fill, "", text);
    else
        fprintf(to, "%s%*s", text, last ? 0 : fill, "");
}

static void put_rows(const columns *table, FILE *to, int indent) {
    enum { MOST = 32 };
    const int n = (int)strlen(table->align);
    int width[MOST] = {0};
    for (int64_t i = 0; i < table->count; ++i) {
        const int own = width_of(table->cell[i]);
        width[i % n] = own > width[i % n] ? own : width[i % n];
    }
    for (int64_t i = 0; i < table->count; ++i) {
        const int column = (int)(i % n);
        fprintf(to, "%*s", column == 0 ? indent : 2, "");
        put_cell(to, table->cell[i], table->align[column], width[column], column + 1 == n);
        if (column + 1 == n)
            putc('\n', to);
    }
}

assay_status columns_print(columns *table, FILE *to, int indent) {
    const bool whole = !table->no_memory;
    if (whole)
        put_rows(table, to, indent);
    for (int64_t i = 0; i < table->count; ++i)
        free(table->cell[i]);
    free(table->cell);
    *table = (columns){.align = table->align};
    return whole ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "no memory for a table");
}
