/*
 * Kernels from PTX on the simulated device: each becomes C code, which the host's compiler makes a
 * shared object of when the kernel is first launched, and which runs as the fibers of the C++ route
 * do, in the same runtime (sim/runtime.h).
 */
#ifndef ASSAY_SIM_PTX_LAUNCH_H
#define ASSAY_SIM_PTX_LAUNCH_H

#include "sim/ptx/ptx.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Runs all blocks of a grid, and returns when they have ended. `grid`, `block`, `cluster`: x, y, z;
 * a cluster of zeros is one of 1 x 1 x 1. `dynamic_shared`: bytes behind the kernel's own shared
 * memory. `parameters`: kernel->parameter_bytes bytes, laid out as kernel->parameters says; it need
 * not be aligned, and is copied.
 *   ASSAY_ERR_KERNEL       a defect was found in the kernel: an instruction that traps, or that is
 *                          not known, was reached, for example; the line names file and line
 *   ASSAY_ERR_DEVICE       CUDA would refuse this configuration
 *   ASSAY_ERR_UNSUPPORTED  no compiler is there, or it failed
 *   ASSAY_ERR_FILE         the compiled kernel could not be stored or loaded
 *   ASSAY_ERR_MEMORY
 */
assay_status ptx_launch(const ptx_function *kernel, const uint32_t grid[3], const uint32_t block[3],
                        const uint32_t cluster[3], size_t dynamic_shared,
                        const void *parameters) ASSAY_MUST_CHECK;

/* The same, of a cooperative launch: all threads of the grid may wait for each other by grid.sync()
 * of cooperative groups. */
assay_status ptx_launch_cooperative(const ptx_function *kernel, const uint32_t grid[3],
                                    const uint32_t block[3], const uint32_t cluster[3],
                                    size_t dynamic_shared, const void *parameters) ASSAY_MUST_CHECK;

/* The next launches count the blocks that they have begun there; NULL: nowhere. Another process may
 * look. */
void ptx_watch(uint64_t *blocks);

/* What a kernel's call of cudaGraphSetConditional does; without it the kernel is refused. */
void ptx_conditions(void (*set)(uint64_t handle, uint32_t value));

/* Compiles a kernel ahead of its first launch. Errors as above. */
assay_status ptx_compile(const ptx_function *kernel) ASSAY_MUST_CHECK;

/* Compiles a kernel for a process that may start no compiler: into a folder, which that process
 * finds by this variable of its environment. The module must have the same name there. */
#define PTX_PREPARED_VARIABLE "ASSAY_PTX_PREPARED"
assay_status ptx_prepare(const ptx_function *kernel, const char *folder) ASSAY_MUST_CHECK;

/* Whether accesses are recorded and races told, in the launches to come (sim/race/race.h): a kernel
 * is compiled anew for it. They are not until this is called. */
void ptx_module_record(ptx_module *module, bool on);

/* An instruction that is not known. A kernel that reaches it traps. */
typedef struct ptx_unknown {
    const char *file; /* the source's where `.loc` gave one, otherwise the module's name */
    int32_t line;
    const char *opcode; /* "tcgen05.wait::ld.sync.aligned" */
    const char *function;
} ptx_unknown;

/* The i-th of a module, in the text's order; NULL behind the last. */
const ptx_unknown *ptx_module_unknown(const ptx_module *module, int32_t i);

#ifdef __cplusplus
}
#endif

#endif
