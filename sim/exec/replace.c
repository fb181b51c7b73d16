#include "sim/exec/replace.h"

#include "sim/exec/elf.h"
#include "sim/exec/report.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JUMP = 14, PATH = PATH_MAX };

/* jmp *[rip]; the address follows. */
static void write_jump(char *from, const void *to) {
    static const char opcode[] = {'\xff', '\x25', 0, 0, 0, 0};
    memcpy(from, opcode, sizeof opcode);
    memcpy(from + sizeof opcode, &to, sizeof to);
}

static bool make_writable(char *from, bool writable) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), low = (uintptr_t)from & ~(page - 1);
    const int rights = PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0);
    return mprotect((void *)low, (uintptr_t)from + JUMP - low, rights) == 0;
}

static bool is_of_cuda(const char *name) {
    return strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
}

/* Whether all functions that the stand-in has begin with its jumps now. */
static bool redirect(const exec_elf *elf, char *base, void *library) {
    exec_function f;
    for (size_t i = 0; exec_elf_function(elf, i, &f); ++i) {
        const void *to = f.name != NULL && is_of_cuda(f.name) ? dlsym(library, f.name) : NULL;
        if (to == NULL)
            continue;
        char *from = base + f.address;
        /* A short one, aligned to 16 bytes, has nothing behind it up to the next. */
        if ((f.bytes < JUMP && f.address % 16 != 0) || !make_writable(from, true))
            return false;
        write_jump(from, to);
        if (!make_writable(from, false))
            return false;
    }
    return true;
}

/* The stand-in of a version, beside this library. */
static void *stand_in(int version) {
    static const char *const names[] = {[11] = "11.0", [12] = "12", [13] = "13"};
    char path[PATH];
    Dl_info here;
    if (dladdr((const void *)(uintptr_t)exec_replace_runtime, &here) == 0)
        return NULL;
    const char *slash = strrchr(here.dli_fname, '/');
    const int folder = slash != NULL ? (int)(slash - here.dli_fname) : 0;
    const int n =
        snprintf(path, sizeof path, "%.*s/libcudart.so.%s", folder, here.dli_fname, names[version]);
    return n > 0 && n < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void replace_in(const char *path, char *base) {
    exec_elf elf;
    if (exec_elf_open(path, &elf) != ASSAY_OK)
        return;
    const int version = exec_elf_runtime(&elf);
    if (version > 0) {
        void *library = stand_in(version);
        if (library == NULL)
            exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s: the stand-in for its runtime: %s", path,
                         dlerror());
        else if (!redirect(&elf, base, library))
            exec_problem(EXEC_PROBLEM_NOT_SIMULATED,
                         "%s: its static runtime cannot be replaced (%s): link it with -cudart "
                         "shared",
                         path, strerror(errno));
    }
    exec_elf_close(&elf);
}

/* A runtime that is a library of its own is no static one. */
static bool is_library(const char *path) {
    const char *slash = strrchr(path, '/');
    return strncmp(slash + 1, "libcudart.so", strlen("libcudart.so")) == 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
    if (strchr(path, '/') != NULL && !is_library(path))
        replace_in(path, (char *)info->dlpi_addr);
    return 0;
}

void exec_replace_runtime(void) {
    dl_iterate_phdr(visit, NULL);
}
