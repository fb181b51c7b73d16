/*
 * PTX modules: their kernels with the facts that a launch needs, and their variables. The text of
 * the kernels is read and checked for its form; launch.h runs them.
 *
 * Device memory is host memory: a variable's address is the host's own.
 */
#ifndef ASSAY_SIM_PTX_PTX_H
#define ASSAY_SIM_PTX_PTX_H

#include "assay/status.h"

#include <stdbool.h>
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
    const char *name;     /* as in the text, mangled */
    const char *own_name; /* as in the source, without namespaces and arguments */
    ptx_module *module;
    int32_t n_parameters;
    const ptx_parameter *parameters;
    size_t parameter_bytes; /* of the block of all parameters */
    size_t shared_bytes;    /* .shared variables of it and of its callees */
    size_t dynamic_offset;  /* in its shared memory, of the dynamic part */
    size_t local_bytes;     /* .local ones, of one thread */
    uint32_t max_threads;   /* .maxntid or .reqntid: threads that a block may have; 0: not given */
    uint32_t required[3];   /* .reqntid: the block that it must have; zeros: not given */
    uint32_t min_blocks;    /* .minnctapersm; 0: not given */
    uint32_t max_registers; /* .maxnreg; 0: not given */
    bool allocates, prints; /* it calls malloc(), printf() */
    bool system_scope;      /* it has accesses or fences that order it with the host */
    bool unordered;         /* its blocks may run at the same time and leave the same bits */
} ptx_function;

/*
 * Reads and translates a module. `name` is its name in messages (a file's path, for example); the
 * text, which need not end in a zero byte, is copied as far as it is needed.
 *   ASSAY_ERR_FILE    the text is not PTX; the line begins "name:line: "
 *   ASSAY_ERR_MEMORY
 */
assay_status ptx_module_load(const char *text, size_t size, const char *name,
                             ptx_module **module) ASSAY_MUST_CHECK;
void ptx_module_free(ptx_module *module);

/* "sm_90a"; "8.8". */
const char *ptx_module_target(const ptx_module *module);
const char *ptx_module_version(const ptx_module *module);

/* The i-th kernel, in the text's order, and the one of that name; NULL when there is none. */
const ptx_function *ptx_module_kernel(const ptx_module *module, int32_t i);
const ptx_function *ptx_module_find(const ptx_module *module, const char *kernel);

/* A `.global` or `.const` variable: where it lies and its size. ASSAY_ERR_USAGE: there is none. */
assay_status ptx_module_symbol(const ptx_module *module, const char *name, void **address,
                               size_t *bytes) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
