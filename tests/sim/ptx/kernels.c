#include "tests/sim/ptx/kernels.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kernels are static, so the dynamic symbols lack them: the program's own file has all. */
static const char *program;
static size_t program_bytes;

static void map_program(void) {
    struct stat info;
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *image = MAP_FAILED;
    if (file >= 0 && fstat(file, &info) == 0)
        image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED) {
        program = image;
        program_bytes = (size_t)info.st_size;
    }
    if (file >= 0)
        close(file);
}

/* The first object is the program itself. */
static int take_base(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    *(uintptr_t *)context = info->dlpi_addr;
    return 1;
}

static const char *symbol_at(uintptr_t value) {
    const ElfW(Ehdr) *elf = (const void *)program;
    const ElfW(Shdr) *header = (const void *)(program + elf->e_shoff);
    for (int i = 0; i < elf->e_shnum; ++i) {
        if (header[i].sh_type != SHT_SYMTAB)
            continue;
        const ElfW(Sym) *symbol = (const void *)(program + header[i].sh_offset);
        const char *names = program + header[header[i].sh_link].sh_offset;
        for (size_t k = 0; k < header[i].sh_size / sizeof *symbol; ++k)
            if (symbol[k].st_value == value && ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC)
                return names + symbol[k].st_name;
    }
    return NULL;
}

/* "_ZL6kernelPf" is what g++ calls a static kernel(float *); nvcc leaves the L out. */
const char *ptx_kernel_name(const void *address) {
    static char name[4096];
    uintptr_t base = 0;
    if (program == NULL)
        map_program();
    if (program == NULL)
        return NULL;
    dl_iterate_phdr(take_base, &base);
    const char *found = symbol_at((uintptr_t)address - base);
    if (found == NULL)
        return NULL;
    const char *plain = strncmp(found, "_ZL", 3) == 0 ? found + 3 : NULL;
    snprintf(name, sizeof name, "%s%s", plain != NULL ? "_Z" : "", plain != NULL ? plain : found);
    return name;
}
