/*
 * PTX on the simulated device. A module's text is read and translated to C when it is loaded; each
 * kernel is compiled by the host's compiler at its first launch and kept in a cache on disk. It
 * then runs on the fibers, barriers and shared memory of the C++ route (sim/runtime.h), with the
 * same schedules, and its defects are reported the same way, at the file and line of its `.loc`.
 *
 * Device memory is host memory: a pointer in a parameter is the host's own. None of this is called
 * from more than one host thread at a time, nor from within a kernel.
 */
#ifndef ASSAY_SIM_PTX_PTX_H
#define ASSAY_SIM_PTX_PTX_H

#include "assay/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ptx_module ptx_module;

typedef struct ptx_parameter {
    size_t offset, bytes, alignment; /* offset: in the block of all parameters */
} ptx_parameter;

/* A kernel: an `.entry`. It belongs to its module. */
typedef struct ptx_function {
    const char *name; /* as in the text, mangled */
    ptx_module *module;
    int32_t n_parameters;
    const ptx_parameter *parameters;
    size_t parameter_bytes; /* of the block of all parameters */
    size_t shared_bytes;    /* static shared memory */
    size_t local_bytes;     /* of one thread */
    uint32_t max_threads;   /* .maxntid or .reqntid: threads that a block may have; 0: not given */
    uint32_t required[3];   /* .reqntid: the block that it must have; zeros: not given */
    uint32_t min_blocks;    /* .minnctapersm; 0: not given */
    uint32_t max_registers; /* .maxnreg; 0: not given */
} ptx_function;

/*
 * Reads and translates a module. `name` is what messages call it (a file's path, for example); the
 * text, which need not end in a zero byte, is copied as far as it is needed.
 *   ASSAY_ERR_FILE    the text is not PTX; the line begins "name:line: "
 *   ASSAY_ERR_MEMORY
 * An instruction that this translator does not know is no error: it is listed, and ends the launch
 * that reaches it.
 */
assay_status ptx_module_load(const char *text, size_t size, const char *name,
                             ptx_module **module) ASSAY_MUST_CHECK;
void ptx_module_free(ptx_module *module);

/* The i-th of what the module has and this translator does not know, as "file:line: opcode (in
 * kernel)"; NULL after the last. */
const char *ptx_module_unknown(const ptx_module *module, int32_t i);

/* "sm_90a"; "8.8". */
const char *ptx_module_target(const ptx_module *module);
const char *ptx_module_version(const ptx_module *module);

/* The i-th kernel, in the text's order, and the one of that name; NULL when there is none. */
const ptx_function *ptx_module_kernel(const ptx_module *module, int32_t i);
const ptx_function *ptx_module_find(const ptx_module *module, const char *kernel);

/* A `.global` or `.const` variable: where it lies and its size. ASSAY_ERR_USAGE: there is none. */
assay_status ptx_module_symbol(const ptx_module *module, const char *name, void **address,
                               size_t *bytes) ASSAY_MUST_CHECK;

/*
 * Runs a kernel to its end. `parameters[i]` points at the value of parameter i, as for
 * cuLaunchKernel; it may be NULL for a kernel without parameters.
 *   ASSAY_ERR_KERNEL       a defect was found; the line names the source's file and line
 *   ASSAY_ERR_DEVICE       CUDA would refuse this configuration
 *   ASSAY_ERR_MEMORY       no memory for stacks
 *   ASSAY_ERR_UNSUPPORTED  the host has no C compiler, or it failed
 *   ASSAY_ERR_FILE         the compiled kernel cannot be written or loaded
 */
assay_status ptx_launch(const ptx_function *kernel, const uint32_t grid[3], const uint32_t block[3],
                        size_t dynamic_shared, void *const *parameters) ASSAY_MUST_CHECK;

/* The same with all parameters in one block, each at its offset (CU_LAUNCH_PARAM_BUFFER_POINTER);
 * `bytes` may fall short of parameter_bytes by padding only. */
assay_status ptx_launch_packed(const ptx_function *kernel, const uint32_t grid[3],
                               const uint32_t block[3], size_t dynamic_shared, const void *block_of,
                               size_t bytes) ASSAY_MUST_CHECK;

/* Compiles a kernel now instead of at its first launch. */
assay_status ptx_prepare(const ptx_function *kernel) ASSAY_MUST_CHECK;

/*
 * The device's memory, where the caller wants accesses to it checked. From the first range on that
 * is added, an access of a kernel to global memory must lie within one range, or within a variable
 * of its module: everything else is the defect "out of bounds" or, for memory that was removed
 * last, "use after free".  Without any range nothing is checked. `add` replaces what overlaps it.
 */
assay_status ptx_memory_add(void *memory, size_t bytes) ASSAY_MUST_CHECK;
void ptx_memory_remove(void *memory);

#ifdef __cplusplus
}
#endif

#endif
