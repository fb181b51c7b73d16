/*
 * The images that a program registers or loads, with kernels and variables. An image is read when
 * one of its kernels or variables is first needed.
 */
#ifndef ASSAY_SIM_EXEC_MODULE_H
#define ASSAY_SIM_EXEC_MODULE_H

#include "sim/exec/error.h"
#include "sim/exec/report.h"
#include "sim/ptx/ptx.h"

#include <stdbool.h>
#include <stddef.h>

enum { EXEC_ARCHITECTURE = 90 }; /* compute capability 9.0 */

typedef struct exec_module exec_module;

/* A kernel; it belongs to its module. */
typedef struct exec_kernel {
    struct exec_kernel *next; /* of its module */
    exec_module *module;
    char *name;                   /* mangled */
    const ptx_function *function; /* NULL: the module is not read yet, or has no such kernel */
    report_kernel *row;           /* NULL: the report has no room */
    uint64_t last, equal;    /* the last launch's hash; launches equal to it in a row before it */
    int most_dynamic_shared; /* cudaFuncAttributeMaxDynamicSharedMemorySize; -1: not set */
    int carveout;
    int cluster[3]; /* required, of a launch that names none; zeros: none */
    int any_cluster_size;
    void *prepared; /* what the driver's oldest interface has set for a launch; free() */
} exec_kernel;

typedef struct exec_variable {
    struct exec_variable *next; /* of its module */
    exec_module *module;
    char *name;
    char *address;
    size_t bytes;
} exec_variable;

/* An image stays the program's: a fat binary's wrapper (fatbin.h), a fat binary, or PTX text.
 * `named`: its name in messages. */
exec_error exec_module_add(const void *image, const char *named, exec_module **module);
exec_error exec_module_load(exec_module *module); /* reads it, unless that has been done */
void exec_module_remove(exec_module *module);
bool exec_module_any(void); /* whether there is one */

/* A whole file, with a zero behind its `size` bytes, for free(). NULL: it cannot be read. */
char *exec_module_file(const char *path, size_t *size);

/* A kernel of the image by its mangled name; loads. EXEC_NOT_FOUND: there is none. */
exec_error exec_module_kernel(exec_module *module, const char *name, exec_kernel **kernel);
/* How many kernels the image has, and the first `n` of them. */
exec_error exec_module_count(exec_module *module, unsigned *n);
exec_error exec_module_kernels(exec_module *module, exec_kernel **kernels, unsigned n);
exec_error exec_module_variable(exec_module *module, const char *name, exec_variable **variable);

/* ---- kernels and variables that nvcc's code registers under an address of the program's ---- */

exec_error exec_register_kernel(exec_module *module, const void *host, const char *name);
exec_error exec_register_variable(exec_module *module, const void *host, const char *name);

/* The kernel that a program names: by the address of its stub, or by a handle. Loads its module.
 * EXEC_INVALID_FUNCTION, EXEC_NO_IMAGE */
exec_error exec_kernel_of(const void *function, exec_kernel **kernel);

/* EXEC_INVALID_SYMBOL */
exec_error exec_variable_of(const void *host, exec_variable **variable);

/* The variable that holds `address`, of a module that is loaded; NULL: none does. */
const exec_variable *exec_variable_at(const void *address);

#endif
