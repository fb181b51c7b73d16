/*
 * A `__shared__` variable is a static in a section of its kernel file's own. Where the section lies
 * is read from the section headers of the executable or shared object: linker-made bounds would
 * need a section name without a dot, and variables in such sections get no redzones from
 * AddressSanitizer.
 */
#include "sim/shared.h"

#include "sim/asan.h"
#include "sim/templates.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GUARD = SIM_DYNAMIC_GUARD };

/* A loaded object: its file, and by how much addresses differ from those in the file. */
typedef struct object {
    const void *inside; /* an address in it, by which it is searched */
    const char *path;
    uintptr_t base;
} object;

static int holds(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    object *o = context;
    uintptr_t address = (uintptr_t)o->inside;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address >= low && address - low < segment->p_memsz) {
            o->path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
            o->base = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

/* The header of the section called `name`; NULL when there is none. */
static const ElfW(Shdr) * find_header(const char *image, size_t size, const char *name) {
    const ElfW(Ehdr) *elf = (const void *)image;
    if (size < sizeof *elf || elf->e_shoff > size ||
        (size - elf->e_shoff) / sizeof(ElfW(Shdr)) < elf->e_shnum ||
        elf->e_shstrndx >= elf->e_shnum)
        return NULL;
    const ElfW(Shdr) *header = (const void *)(image + elf->e_shoff);
    const ElfW(Shdr) *texts = &header[elf->e_shstrndx];
    if (texts->sh_offset > size || texts->sh_size > size - texts->sh_offset)
        return NULL;
    for (int i = 0; i < elf->e_shnum; ++i) {
        size_t room = header[i].sh_name < texts->sh_size ? texts->sh_size - header[i].sh_name : 0;
        if (strlen(name) < room &&
            memcmp(image + texts->sh_offset + header[i].sh_name, name, strlen(name) + 1) == 0)
            return &header[i];
    }
    return NULL;
}

static assay_status read_section(const object *o, sim_section *section) {
    assay_status status = ASSAY_ERR_FILE;
    int file = open(o->path, O_RDONLY | O_CLOEXEC);
    void *image = MAP_FAILED;
    struct stat info = {0};
    if (file >= 0 && fstat(file, &info) == 0)
        image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image == MAP_FAILED) {
        status = assay_fail(ASSAY_ERR_FILE,
                            "simulated device: cannot read the section headers of %s: %s; the "
                            "program must be readable while it runs",
                            o->path, strerror(errno));
        goto done;
    }
    const ElfW(Shdr) *header = find_header(image, (size_t)info.st_size, section->name);
    if (header) {
        /* The sum of two addresses, made a pointer where the loader made it one. */
        section->low = (char *)(o->base + header->sh_addr);
        section->high = section->low + header->sh_size;
    }
    status = sim_templates_read(section, image, (size_t)info.st_size, o->base,
                                strcmp(o->path, "/proc/self/exe") == 0);
    if (sim_race_guard)
        sim_templates_gaps(section, image, (size_t)info.st_size, o->base, sim_race_guard);
    section->found = status == ASSAY_OK;
done:
    if (image != MAP_FAILED)
        munmap(image, (size_t)info.st_size);
    if (file >= 0)
        close(file);
    return status;
}

/* `section` itself lies in the object that holds the kernels, and so does its answer: both go when
 * the object is unloaded. A file without shared variables has an empty range. */
static assay_status find_section(sim_section *section) {
    if (section->found)
        return ASSAY_OK;
    object o = {.inside = section};
    if (dl_iterate_phdr(holds, &o) == 0)
        return assay_fail(ASSAY_ERR_FILE, "simulated device: no loaded object holds section %s",
                          section->name);
    return read_section(&o, section);
}

static char *dynamic; /* of the block that runs */

assay_status sim_dynamic_resize(sim_dynamic *d, size_t bytes) {
    if (!d->memory) {
        char *memory = mmap(NULL, GUARD + ASSAY_MAX_SHARED + GUARD, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return assay_fail(ASSAY_ERR_MEMORY, "simulated device: no memory to share: %s",
                              strerror(errno));
        d->memory = memory + GUARD;
        sim_poison(memory, GUARD + ASSAY_MAX_SHARED + GUARD, true);
    }
    if (bytes != d->bytes) {
        sim_poison(d->memory, ASSAY_MAX_SHARED, true);
        sim_poison(d->memory, bytes, false);
        d->bytes = bytes;
    }
    return ASSAY_OK;
}

void sim_dynamic_use(const sim_dynamic *d) {
    dynamic = d->memory;
}

char *const *sim_dynamic_place(void) {
    return &dynamic;
}

void *sim_dynamic_shared(void) {
    return dynamic;
}

static const sim_section *current; /* of the launch */

assay_status sim_shared_begin(sim_section *section, sim_range *range) {
    static sim_section empty = {.found = true};
    section = section != NULL ? section : &empty;
    assay_status status = find_section(section);
    if (status != ASSAY_OK)
        return status;
    current = section;
    *range = (sim_range){section->low, section->high};
    return ASSAY_OK;
}

void sim_shared_fill(const sim_range range[2]) {
    for (int i = 0; i < 2; ++i)
        sim_fill(range[i].low, (size_t)(range[i].high - range[i].low));
    sim_templates_fill(current);
}
