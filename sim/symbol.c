#include "sim/symbol.h"

#include "sim/defect.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH = 1024, CACHED = 256 };

/* An address in the loaded object that holds it. */
typedef struct location {
    uintptr_t address, offset; /* as loaded; as in the file */
    char object[PATH];
} location;

static int holds(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    location *l = context;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && l->address >= low &&
            l->address - low < segment->p_memsz) {
            l->offset = l->address - info->dlpi_addr;
            snprintf(l->object, sizeof l->object, "%s", info->dlpi_name);
            return 1;
        }
    }
    return 0;
}

/* The main program's name is empty in the loader's list. */
static location locate(uintptr_t address) {
    location l = {.address = address, .offset = address, .object = "?"};
    if (dl_iterate_phdr(holds, &l) != 0 && l.object[0] == '\0') {
        ssize_t n = readlink("/proc/self/exe", l.object, sizeof l.object - 1);
        l.object[n > 0 ? n : 0] = '\0';
    }
    return l;
}

static FILE *start_addr2line(const location *l, pid_t *child) {
    extern char **environ;
    char offset[32], object[PATH];
    int fds[2];
    FILE *output = NULL;
    posix_spawn_file_actions_t actions;
    snprintf(offset, sizeof offset, "0x%zx", (size_t)l->offset);
    snprintf(object, sizeof object, "%s", l->object);
    char name[] = "addr2line", options[] = "-Cfie";
    char *arguments[] = {name, options, object, offset, NULL};
    if (pipe2(fds, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(child, name, &actions, NULL, arguments, environ) == 0)
        output = fdopen(fds[0], "r");
    else
        close(fds[0]);
    close(fds[1]);
    posix_spawn_file_actions_destroy(&actions);
    return output;
}

/* Whether a place lies in the folder of this file: the runtime's, no kernel's. The compiler names
 * both from the same folder, be it relative or not. */
static bool is_runtime(const char *place) {
    static const char own[] = __FILE__;
    char folder[sizeof own];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(own, '/') + 1 - own), own);
    return strstr(place, folder) != NULL;
}

/* addr2line -i prints two lines a frame, innermost first: the function, then file:line and maybe a
 * remark. */
static bool read_frames(FILE *output, sim_source *source) {
    char function[PATH], place[PATH];
    bool found = false;
    while (fgets(function, sizeof function, output) && fgets(place, sizeof place, output)) {
        char *colon = strrchr(place, ':');
        int line = colon ? atoi(colon + 1) : 0;
        if (found || line <= 0 || is_runtime(place))
            continue;
        *colon = '\0';
        snprintf(source->file, sizeof source->file, "%.*s", SIM_SYMBOL_TEXT - 1,
                 sim_base_name(place));
        source->line = line;
        found = true;
    }
    return found;
}

static sim_source find_source(uintptr_t return_address) {
    location l = locate(return_address - 1);
    sim_source source = {.line = 0};
    bool found = false;
    pid_t child;
    FILE *output = start_addr2line(&l, &child);
    if (output) {
        found = read_frames(output, &source);
        fclose(output);
        waitpid(child, NULL, 0);
    }
    if (!found)
        snprintf(source.file, sizeof source.file, "%.96s+0x%zx", sim_base_name(l.object),
                 (size_t)l.offset);
    return source;
}

sim_source sim_symbol_source(uintptr_t return_address) {
    static struct {
        uintptr_t address;
        sim_source source;
    } cache[CACHED];
    size_t slot = return_address % CACHED;
    if (cache[slot].address != return_address) {
        cache[slot].source = find_source(return_address);
        cache[slot].address = return_address;
    }
    return cache[slot].source;
}

/* Turns _ZZL6kernelPfE4tile into "kernel(float*)::tile"; from the C++ runtime, where there is one.
 */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status)
    __attribute__((weak));

static void write_variable(const char *symbol, size_t offset, char text[SIM_SYMBOL_TEXT]) {
    char *plain = __cxa_demangle ? __cxa_demangle(symbol, NULL, NULL, &(int){0}) : NULL;
    const char *name = plain ? plain : symbol;
    for (const char *part = strstr(name, "::"); part; part = strstr(name, "::"))
        name = part + 2;
    snprintf(text, SIM_SYMBOL_TEXT, offset == 0 ? "%.90s" : "%.90s+%zu", name, offset);
    free(plain);
}

/* Searches the symbol table of an ELF file that is mapped at `image`. */
static bool find_variable(const char *image, size_t size, uintptr_t offset,
                          char text[SIM_SYMBOL_TEXT]) {
    const ElfW(Ehdr) *elf = (const void *)image;
    if (size < sizeof *elf || elf->e_shoff > size ||
        (size - elf->e_shoff) / sizeof(ElfW(Shdr)) < elf->e_shnum)
        return false;
    const ElfW(Shdr) *sections = (const void *)(image + elf->e_shoff);
    for (int i = 0; i < elf->e_shnum; ++i) {
        const ElfW(Shdr) *table = &sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= elf->e_shnum)
            continue;
        const ElfW(Sym) *symbols = (const void *)(image + table->sh_offset);
        const char *names = image + sections[table->sh_link].sh_offset;
        for (size_t j = 0; j < table->sh_size / sizeof *symbols; ++j) {
            const ElfW(Sym) *s = &symbols[j];
            if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && offset >= s->st_value &&
                offset - s->st_value < s->st_size) {
                write_variable(names + s->st_name, offset - s->st_value, text);
                return true;
            }
        }
    }
    return false;
}

const char *sim_symbol_variable(const void *address, char text[SIM_SYMBOL_TEXT]) {
    location l = locate((uintptr_t)address);
    struct stat info = {0};
    void *image = MAP_FAILED;
    bool found = false;
    int file = open(l.object, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &info) == 0)
        image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED) {
        found = find_variable(image, (size_t)info.st_size, l.offset, text);
        munmap(image, (size_t)info.st_size);
    }
    if (file >= 0)
        close(file);
    if (!found)
        snprintf(text, SIM_SYMBOL_TEXT, "%.96s+0x%zx", sim_base_name(l.object), (size_t)l.offset);
    return text;
}
