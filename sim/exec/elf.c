#include "sim/exec/elf.h"

#include "sim/exec/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* `bytes` of the file at an offset; NULL: it is shorter. */
static const void *at(const exec_elf *elf, uint64_t offset, uint64_t bytes) {
    return offset <= elf->size && bytes <= elf->size - offset ? elf->bytes + offset : NULL;
}

/* A header or symbol there; NULL also where it does not lie as they do in whole files. */
static const void *object_at(const exec_elf *elf, uint64_t offset, uint64_t bytes) {
    return offset % 8 == 0 ? at(elf, offset, bytes) : NULL;
}

static bool is_ours(const exec_elf *elf) {
    const Elf64_Ehdr *h = at(elf, 0, sizeof *h);
    return h != NULL && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
           h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
           h->e_machine == EM_X86_64 && (h->e_type == ET_EXEC || h->e_type == ET_DYN);
}

assay_status exec_elf_open(const char *path, exec_elf *elf) {
    struct stat about;
    *elf = (exec_elf){NULL, 0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0) {
        if (S_ISREG(about.st_mode) && about.st_size > 0)
            bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        else
            errno = S_ISDIR(about.st_mode) ? EISDIR : ENOEXEC;
    }
    const int why = errno;
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(why));
    *elf = (exec_elf){bytes, (size_t)about.st_size};
    if (is_ours(elf))
        return ASSAY_OK;
    exec_elf_close(elf);
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: not an ELF program for x86-64", path);
}

void exec_elf_close(exec_elf *elf) {
    if (elf->bytes != NULL)
        munmap((void *)(uintptr_t)elf->bytes, elf->size);
    *elf = (exec_elf){NULL, 0};
}

bool exec_elf_is_dynamic(const exec_elf *elf) {
    const Elf64_Ehdr *h = at(elf, 0, sizeof *h);
    for (unsigned i = 0; i < h->e_phnum; ++i) {
        const Elf64_Phdr *p = object_at(elf, h->e_phoff + (uint64_t)i * sizeof *p, sizeof *p);
        if (p != NULL && p->p_type == PT_INTERP)
            return true;
    }
    return false;
}

static const Elf64_Shdr *section(const exec_elf *elf, unsigned i) {
    const Elf64_Ehdr *h = at(elf, 0, sizeof *h);
    return i < h->e_shnum
               ? object_at(elf, h->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr))
               : NULL;
}

/* A string of a table; "" where it is cut off. */
static const char *string(const exec_elf *elf, const Elf64_Shdr *table, uint64_t offset) {
    const char *strings = table != NULL ? at(elf, table->sh_offset, table->sh_size) : NULL;
    if (strings == NULL || offset >= table->sh_size ||
        memchr(strings + offset, '\0', table->sh_size - offset) == NULL)
        return "";
    return strings + offset;
}

static const Elf64_Shdr *named(const exec_elf *elf, const char *name) {
    const Elf64_Ehdr *h = at(elf, 0, sizeof *h);
    const Elf64_Shdr *names = section(elf, h->e_shstrndx), *s;
    for (unsigned i = 0; (s = section(elf, i)) != NULL; ++i)
        if (s->sh_type != SHT_NOBITS && strcmp(string(elf, names, s->sh_name), name) == 0)
            return s;
    return NULL;
}

const void *exec_elf_section(const exec_elf *elf, const char *name, size_t *bytes) {
    const Elf64_Shdr *s = named(elf, name);
    *bytes = s != NULL ? s->sh_size : 0;
    return s != NULL ? at(elf, s->sh_offset, s->sh_size) : NULL;
}

bool exec_elf_function(const exec_elf *elf, size_t i, exec_function *f) {
    const Elf64_Shdr *table = named(elf, ".symtab");
    *f = (exec_function){NULL, 0, 0};
    if (table == NULL || i >= table->sh_size / sizeof(Elf64_Sym))
        return false;
    const Elf64_Sym *symbol = object_at(elf, table->sh_offset + i * sizeof *symbol, sizeof *symbol);
    if (symbol == NULL)
        return false;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF)
        *f = (exec_function){string(elf, section(elf, table->sh_link), symbol->st_name),
                             symbol->st_value, symbol->st_size};
    return true;
}

int exec_elf_runtime(const exec_elf *elf) {
    exec_function f;
    int version = 0;
    for (size_t i = 0; exec_elf_function(elf, i, &f); ++i) {
        if (f.name == NULL)
            continue;
        if (version == 0 && strcmp(f.name, "__cudaRegisterFatBinary") == 0)
            version = 13;
        else if (strcmp(f.name, "__cudaRegisterTexture") == 0) /* gone in 12 */
            return 11;
        else if (strcmp(f.name, "cudaGetDeviceProperties_v2") == 0) /* only in 12 */
            version = 12;
    }
    return version;
}

/* They lie one behind the other, each at a multiple of 8 bytes. */
const void *exec_elf_image(const exec_elf *elf, const char *section_name, size_t *offset,
                           size_t *room) {
    size_t bytes;
    const char *images = exec_elf_section(elf, section_name, &bytes);
    while (images != NULL && *offset + sizeof(uint32_t) <= bytes) {
        const char *image = images + *offset;
        uint32_t magic;
        memcpy(&magic, image, sizeof magic);
        *room = bytes - *offset;
        *offset += 8;
        if (magic == EXEC_FATBIN_MAGIC)
            return image;
    }
    return NULL;
}
