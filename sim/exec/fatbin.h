/*
 * Fat binaries: the GPU's part of a program, as nvcc writes it. One holds machine code for some
 * architectures and PTX for others; the simulated device takes the PTX. The layout is not
 * documented; it was read from files of nvcc 13.0 and is checked by tests/exec/fatbin_test.c.
 */
#ifndef ASSAY_SIM_EXEC_FATBIN_H
#define ASSAY_SIM_EXEC_FATBIN_H

#include "assay/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of __cudaRegisterFatBinary and cuModuleLoadFatBinary. */
typedef struct exec_fatbin_wrapper {
    uint32_t magic, version;
    const void *image;
    /* Of version 2, the images of the program's objects, up to a NULL: their device code was linked
     * (-rdc=true), and `image` is what came of their machine code. */
    const void *const *objects;
} exec_fatbin_wrapper;
#define EXEC_FATBIN_WRAPPER_MAGIC UINT32_C(0x466243b1)
enum { EXEC_FATBIN_LINKED = 2 };

/* The image itself begins with this. */
#define EXEC_FATBIN_MAGIC UINT32_C(0xba55ed50)

typedef struct exec_ptx {
    char *text;           /* ends in a zero byte; free() */
    size_t size;          /* without that byte */
    int32_t architecture; /* 80 for compute_80 */
} exec_ptx;

/*
 * The PTX of `image` that fits a device of compute capability `architecture` (90 for 9.0) best: of
 * those for this or an older one, the newest. `room`: bytes that may be read; SIZE_MAX for an image
 * that the loader brought, whose headers tell its size.
 *   ASSAY_ERR_FILE         this is no fat binary, or it is damaged
 *   ASSAY_ERR_UNSUPPORTED  it holds no PTX that fits; the line lists what it holds. Or its PTX is
 *                          compressed and this build lacks the library
 *   ASSAY_ERR_MEMORY
 */
assay_status exec_fatbin_ptx(const void *image, size_t room, int32_t architecture,
                             exec_ptx *ptx) ASSAY_MUST_CHECK;

/* Puts another text behind one, or in place of none, and frees it; as one they are linked.
 * ASSAY_ERR_MEMORY */
assay_status exec_ptx_add(exec_ptx *ptx, exec_ptx *more) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
