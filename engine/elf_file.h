/* The headers of a shared object or of CUDA's machine code, read from bytes that are not trusted.
 */
#ifndef ASSAY_ENGINE_ELF_FILE_H
#define ASSAY_ENGINE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_NEEDED = 64 };

/* Of its dynamic section; texts lie in the image. */
typedef struct elf_dynamic {
    const char *name;     /* DT_SONAME; "" */
    const char *run_path; /* DT_RUNPATH, otherwise DT_RPATH; "" */
    const char *needed[ELF_NEEDED];
    int32_t n_needed;
} elf_dynamic;

bool elf_is(const char *image, size_t bytes);

/* Whether the table at its end, of sections, is there: false where it was cut short. */
bool elf_is_whole(const char *image, size_t bytes);

/* Whether one of its tables of names holds `symbol`. */
bool elf_mentions(const char *image, size_t bytes, const char *symbol);

/* The architecture that CUDA's machine code is for, as 90 of sm_90. 0: the image is no such code,
 * or parts of it are missing. */
int32_t elf_cubin_architecture(const char *image, size_t bytes);

/* A part that is missing or damaged is left empty: the loader will name the defect. */
void elf_read_dynamic(const char *image, size_t bytes, elf_dynamic *d);

#endif
