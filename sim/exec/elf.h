/* Programs and libraries as ELF files, before and while they run. */
#ifndef ASSAY_SIM_EXEC_ELF_H
#define ASSAY_SIM_EXEC_ELF_H

#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct exec_elf {
    const char *bytes; /* of the file; all that is read of it is checked to lie within */
    size_t size;
} exec_elf;

/* ASSAY_ERR_FILE: it cannot be read. ASSAY_ERR_UNSUPPORTED: no ELF file for x86-64. */
assay_status exec_elf_open(const char *path, exec_elf *elf) ASSAY_MUST_CHECK;
void exec_elf_close(exec_elf *elf);

/* Whether a loader brings its libraries; false: it is linked statically. */
bool exec_elf_is_dynamic(const exec_elf *elf);

/* NULL: it has no such section, or the section is damaged. */
const void *exec_elf_section(const exec_elf *elf, const char *name, size_t *bytes);

/* The sections with fat binaries (fatbin.h): of programs, and of objects whose device code was
 * linked. */
#define EXEC_ELF_IMAGES  ".nv_fatbin"
#define EXEC_ELF_OBJECTS "__nv_relfatbin"

/* A fat binary of a section, where the search goes on, and the bytes from there to the section's
 * end. From *offset 0 on; NULL behind the last. */
const void *exec_elf_image(const exec_elf *elf, const char *section, size_t *offset, size_t *room);

typedef struct exec_function {
    const char *name;
    uint64_t address, bytes;
} exec_function;

/* The i-th symbol of the symbol table; false behind the last. `f->name` is NULL where it is no
 * function that the file defines. */
bool exec_elf_function(const exec_elf *elf, size_t i, exec_function *f);

/* Which static runtime of CUDA the file holds, by its symbols: 11, 12, 13; 0: it names no such
 * runtime. */
int exec_elf_runtime(const exec_elf *elf);

#endif
