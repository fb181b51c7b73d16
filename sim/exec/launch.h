/* Launches, checked as CUDA checks them. */
#ifndef ASSAY_SIM_EXEC_LAUNCH_H
#define ASSAY_SIM_EXEC_LAUNCH_H

#include "sim/exec/module.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By how many processes the blocks of a launch may be run (sim/split.h): 1 at first. The variable's
 * value, in a program that `assay exec` runs; not given: one for each processor. */
#define EXEC_JOBS_VARIABLE "ASSAY_EXEC_JOBS"
void exec_launch_share(int32_t processes);

/* dim3 */
typedef struct exec_dim {
    uint32_t x, y, z;
} exec_dim;

typedef struct exec_launch {
    exec_dim grid, block, cluster; /* a cluster of zeros: the kernel's own size, if it has one */
    size_t dynamic_shared;
    bool cooperative;
} exec_launch;

/* `arguments`: an address for each of the kernel's parameters. */
exec_error exec_launch_kernel(exec_kernel *kernel, const exec_launch *launch, void **arguments,
                              exec_stream *stream);

/* The work of a launch, for a graph; and its arguments packed as the kernel's parameters lie. */
exec_error exec_launch_work(exec_kernel *kernel, const exec_launch *launch, void **arguments,
                            const void *packed, exec_work **work);

/* The kernel of a launch; NULL: another library's, such as a product of matrices. */
const exec_kernel *exec_work_launch(const exec_work *work, exec_launch *launch);

/* An address for each argument within the work, in memory that stays until the program ends. NULL:
 * no memory. */
void **exec_work_arguments(exec_work *work);

/* Blocks of a kernel that a multiprocessor holds at a time; 0: not even one. The registers of a
 * thread, which PTX does not tell, are taken for 32, or for the kernel's .maxnreg. */
int exec_blocks_per_multiprocessor(const exec_kernel *kernel, uint64_t threads,
                                   size_t dynamic_shared);
/* The dynamic shared memory that each of `n` blocks of a multiprocessor may have.
 * EXEC_INVALID_VALUE: so many do not fit. */
exec_error exec_shared_for_blocks(const exec_kernel *kernel, int n, int threads, size_t *bytes);
int exec_kernel_registers(const exec_kernel *kernel);
/* By the number that cudaFuncAttribute and CUfunction_attribute share. EXEC_INVALID_VALUE */
exec_error exec_kernel_set(exec_kernel *kernel, int attribute, int value);
int exec_kernel_threads(const exec_kernel *kernel); /* at most, of a block */

#endif
