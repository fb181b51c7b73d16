#include "sim/templates.h"

#include "sim/asan.h"

#include <ctype.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

typedef struct variable {
    const sim_section *section;
    sim_range range;
} variable;

static struct {
    variable *at;
    size_t count, room;
    const sim_section *current; /* of the launch, if it has any */
    sim_range around;           /* all of those */
    const sim_range *last;      /* found */
} all;

/* ---- the table of symbols ---- */

typedef struct table {
    const char *image;
    const ElfW(Sym) * symbol;
    size_t n_symbols;
    const char *names;
    size_t names_bytes;
    const ElfW(Shdr) * header;
    size_t n_headers;
} table;

static bool lies(size_t bytes, uint64_t offset, uint64_t size) {
    return offset <= bytes && size <= bytes - offset;
}

static bool find_table(const char *image, size_t bytes, table *t) {
    const ElfW(Ehdr) *elf = (const void *)image;
    if (bytes < sizeof *elf || !lies(bytes, elf->e_shoff, elf->e_shnum * sizeof(ElfW(Shdr))))
        return false;
    *t = (table){
        .image = image, .header = (const void *)(image + elf->e_shoff), .n_headers = elf->e_shnum};
    for (size_t i = 0; i < t->n_headers; ++i) {
        const ElfW(Shdr) *h = &t->header[i];
        if (h->sh_type != SHT_SYMTAB || h->sh_link >= t->n_headers)
            continue;
        const ElfW(Shdr) *names = &t->header[h->sh_link];
        if (!lies(bytes, h->sh_offset, h->sh_size) || names->sh_size == 0 ||
            !lies(bytes, names->sh_offset, names->sh_size) ||
            image[names->sh_offset + names->sh_size - 1] != '\0')
            return false;
        t->symbol = (const void *)(image + h->sh_offset);
        t->n_symbols = h->sh_size / sizeof *t->symbol;
        t->names = image + names->sh_offset;
        t->names_bytes = names->sh_size;
        return true;
    }
    return false; /* it was stripped */
}

static const char *name_of(const table *t, size_t i) {
    return t->symbol[i].st_name < t->names_bytes ? t->names + t->symbol[i].st_name : "";
}

/* ---- names, as the C++ ABI mangles them ---- */

/* Behind a name with its length in front, or NULL. */
static const char *skip_name(const char *text) {
    if (!isdigit((unsigned char)*text))
        return NULL;
    char *end;
    const unsigned long length = strtoul(text, &end, 10);
    return length <= strlen(end) ? end + length : NULL;
}

/* "_ZZ" of a function whose name, or one that it is in, has template arguments: a variable of it.
 */
static bool is_of_template(const char *name) {
    if (strncmp(name, "_ZZ", 3) != 0 || strncmp(name, "_ZZNSt", 6) == 0 ||
        strncmp(name, "_ZZNKSt", 7) == 0)
        return false;
    const char *at = name + 3;
    while (*at == 'L' || *at == 'N' || *at == 'K')
        ++at;
    for (; at; at = skip_name(at)) {
        if (*at == 'I')
            return true;
        at += *at == 'L';
    }
    return false;
}

static bool has_guard(const table *t, const char *name) {
    for (size_t i = 0; i < t->n_symbols; ++i) {
        const char *other = name_of(t, i);
        if (strncmp(other, "_ZGV", 4) == 0 && strcmp(other + 4, name + 2) == 0)
            return true;
    }
    return false;
}

/* ---- those of one file ---- */

/* In a program, symbols that are local follow the name of their source file, whose stem ends the
 * section's. A kernel file is one such file. */
static bool is_file_of(const sim_section *section, const char *source) {
    const char *stem = strrchr(section->name, '.');
    const size_t length = stem ? strlen(stem + 1) : 0;
    return length > 0 && strncmp(source, stem + 1, length) == 0 && source[length] == '.';
}

/* Without a value of its own, as shared memory is, and not in the section. */
static bool is_apart(const table *t, const ElfW(Sym) * s, const sim_section *section,
                     uintptr_t base) {
    const bool inside = section->low <= (char *)(base + s->st_value) &&
                        (char *)(base + s->st_value) < section->high;
    return !inside && s->st_shndx < t->n_headers && t->header[s->st_shndx].sh_type == SHT_NOBITS;
}

static assay_status note(const sim_section *section, char *low, size_t bytes) {
    if (all.count == all.room) {
        const size_t room = 2 * all.room + 16;
        variable *grown = realloc(all.at, room * sizeof *all.at);
        if (!grown)
            return assay_fail(ASSAY_ERR_MEMORY,
                              "simulated device: no memory for a list of %zu shared variables",
                              room);
        all.at = grown;
        all.last = NULL;
        all.room = room;
    }
    all.at[all.count++] = (variable){section, {low, low + bytes}};
    return ASSAY_OK;
}

/* Of an object that has gone, and lay where this one does. */
static void forget(const sim_section *section) {
    size_t kept = 0;
    all.last = NULL;
    for (size_t i = 0; i < all.count; ++i)
        if (all.at[i].section != section)
            all.at[kept++] = all.at[i];
    all.count = kept;
}

assay_status sim_templates_read(const sim_section *section, const char *image, size_t bytes,
                                uintptr_t base, bool program) {
    table t;
    bool own = false;
    assay_status status = ASSAY_OK;
    forget(section);
    if (!find_table(image, bytes, &t))
        return ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < t.n_symbols; ++i) {
        const ElfW(Sym) *s = &t.symbol[i];
        const int type = s->st_info & 0xf, binding = s->st_info >> 4;
        if (type == STT_FILE)
            own = is_file_of(section, name_of(&t, i));
        if (type == STT_OBJECT && (!program || (own && binding == STB_LOCAL)) &&
            is_of_template(name_of(&t, i)) && is_apart(&t, s, section, base) &&
            !has_guard(&t, name_of(&t, i)))
            status = note(section, (char *)(base + s->st_value), s->st_size);
    }
    return status;
}

void sim_templates_fill(const sim_section *section) {
    all.current = NULL;
    all.last = NULL;
    all.around = (sim_range){NULL, NULL};
    for (size_t i = 0; i < all.count; ++i)
        if (all.at[i].section == section) {
            const sim_range *r = &all.at[i].range;
            sim_fill(r->low, (size_t)(r->high - r->low));
            if (!all.current || r->low < all.around.low)
                all.around.low = r->low;
            if (!all.current || r->high > all.around.high)
                all.around.high = r->high;
            all.current = section;
        }
}

const sim_range *sim_templates_of(const volatile void *address) {
    if (!sim_in_range(&all.around, address))
        return NULL;
    if (all.last && sim_in_range(all.last, address))
        return all.last;
    for (size_t i = 0; i < all.count; ++i)
        if (all.at[i].section == all.current && sim_in_range(&all.at[i].range, address))
            return all.last = &all.at[i].range;
    return NULL;
}

void sim_templates_visit(void (*visit)(sim_range variable)) {
    for (size_t i = 0; all.current && i < all.count; ++i)
        if (all.at[i].section == all.current)
            visit(all.at[i].range);
}

/* ---- between variables ---- */

void sim_templates_gaps(const sim_section *section, const char *image, size_t bytes, uintptr_t base,
                        void (*visit)(void *memory, size_t bytes, bool on)) {
    table t;
    if (section->low == section->high || !find_table(image, bytes, &t))
        return;
    visit(section->low, (size_t)(section->high - section->low), true);
    for (size_t i = 0; i < t.n_symbols; ++i) {
        const ElfW(Sym) *s = &t.symbol[i];
        char *low = (char *)(base + s->st_value);
        if ((s->st_info & 0xf) == STT_OBJECT && low >= section->low && low < section->high)
            visit(low, s->st_size, false);
    }
}
