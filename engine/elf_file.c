#include "engine/elf_file.h"

#include <link.h>
#include <string.h>

enum { SYMBOL = 256 };

bool elf_is(const char *image, size_t bytes) {
    return bytes > SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0;
}

bool elf_is_whole(const char *image, size_t bytes) {
    ElfW(Ehdr) header;
    if (!elf_is(image, bytes) || bytes < sizeof header)
        return false;
    memcpy(&header, image, sizeof header);
    return header.e_shoff <= bytes &&
           (size_t)header.e_shnum * header.e_shentsize <= bytes - header.e_shoff;
}

/* A table of names holds it with the 0 bytes around it. */
bool elf_mentions(const char *image, size_t bytes, const char *symbol) {
    char wanted[SYMBOL + 2] = "";
    const size_t length = strlen(symbol);
    if (length >= SYMBOL || !elf_is(image, bytes))
        return false;
    memcpy(wanted + 1, symbol, length);
    return memmem(image, bytes, wanted, length + 2) != NULL;
}

typedef struct file {
    const char *image;
    size_t bytes;
    ElfW(Ehdr) header;
} file;

/* NULL: it lies outside. */
static const char *at(const file *f, uint64_t offset, uint64_t bytes) {
    return offset <= f->bytes && bytes <= f->bytes - offset ? f->image + offset : NULL;
}

/* ---- machine code of CUDA's ---- */

static bool has_all_parts(const file *f) {
    for (uint64_t i = 0; i < f->header.e_shnum; ++i) {
        ElfW(Shdr) s;
        const char *from = at(f, f->header.e_shoff + i * sizeof s, sizeof s);
        if (!from)
            return false;
        memcpy(&s, from, sizeof s);
        if (s.sh_type != SHT_NOBITS && !at(f, s.sh_offset, s.sh_size))
            return false;
    }
    return f->header.e_shnum > 0 &&
           at(f, f->header.e_phoff, (uint64_t)f->header.e_phnum * sizeof(ElfW(Phdr)));
}

/* Since version 8 of its ABI, which CUDA 13 writes, the number stands in the second byte. */
int32_t elf_cubin_architecture(const char *image, size_t bytes) {
    enum { CUDA = 190, SECOND_BYTE = 8 };
    file f = {.image = image, .bytes = bytes};
    if (!elf_is_whole(image, bytes))
        return 0;
    memcpy(&f.header, image, sizeof f.header);
    if (f.header.e_machine != CUDA || f.header.e_shentsize != sizeof(ElfW(Shdr)) ||
        !has_all_parts(&f))
        return 0;
    const bool second = f.header.e_ident[EI_ABIVERSION] >= SECOND_BYTE;
    return (int32_t)(f.header.e_flags >> (second ? 8 : 0) & 0xff);
}

/* ---- the dynamic section ---- */

static bool find_segment(const file *f, bool (*fits)(const ElfW(Phdr) *, uint64_t), uint64_t what,
                         ElfW(Phdr) * segment) {
    for (uint64_t i = 0; i < f->header.e_phnum; ++i) {
        const char *from = at(f, f->header.e_phoff + i * sizeof *segment, sizeof *segment);
        if (!from)
            return false;
        memcpy(segment, from, sizeof *segment);
        if (fits(segment, what))
            return true;
    }
    return false;
}

static bool has_type(const ElfW(Phdr) * s, uint64_t type) {
    return s->p_type == type;
}

static bool holds_address(const ElfW(Phdr) * s, uint64_t address) {
    return s->p_type == PT_LOAD && address >= s->p_vaddr && address - s->p_vaddr < s->p_filesz;
}

/* The text at an offset of the table of names; "" where it does not end. */
static const char *text(const file *f, uint64_t table, uint64_t offset) {
    const char *from = table <= f->bytes ? at(f, table + offset, 1) : NULL;
    return from && memchr(from, '\0', f->bytes - (size_t)(from - f->image)) ? from : "";
}

/* The n-th entry; false behind the last. */
static bool entry(const file *f, const ElfW(Phdr) * dynamic, uint64_t n, ElfW(Dyn) * e) {
    if (n >= dynamic->p_filesz / sizeof *e)
        return false;
    const char *from = at(f, dynamic->p_offset + n * sizeof *e, sizeof *e);
    if (!from)
        return false;
    memcpy(e, from, sizeof *e);
    return e->d_tag != DT_NULL;
}

static uint64_t table_of_names(const file *f, const ElfW(Phdr) * dynamic) {
    ElfW(Phdr) segment;
    ElfW(Dyn) e;
    for (uint64_t n = 0; entry(f, dynamic, n, &e); ++n)
        if (e.d_tag == DT_STRTAB && find_segment(f, holds_address, e.d_un.d_ptr, &segment))
            return e.d_un.d_ptr - segment.p_vaddr + segment.p_offset;
    return UINT64_MAX;
}

void elf_read_dynamic(const char *image, size_t bytes, elf_dynamic *d) {
    file f = {.image = image, .bytes = bytes};
    ElfW(Phdr) dynamic;
    ElfW(Dyn) e;
    *d = (elf_dynamic){.name = "", .run_path = ""};
    if (!elf_is(image, bytes) || bytes < sizeof f.header)
        return;
    memcpy(&f.header, image, sizeof f.header);
    if (f.header.e_phentsize != sizeof dynamic || !find_segment(&f, has_type, PT_DYNAMIC, &dynamic))
        return;
    const uint64_t names = table_of_names(&f, &dynamic);
    for (uint64_t n = 0; entry(&f, &dynamic, n, &e); ++n) {
        if (e.d_tag == DT_SONAME)
            d->name = text(&f, names, e.d_un.d_val);
        else if (e.d_tag == DT_RUNPATH || (e.d_tag == DT_RPATH && d->run_path[0] == '\0'))
            d->run_path = text(&f, names, e.d_un.d_val);
        else if (e.d_tag == DT_NEEDED && d->n_needed < ELF_NEEDED)
            d->needed[d->n_needed++] = text(&f, names, e.d_un.d_val);
    }
}
