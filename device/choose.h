/*
 * Which of several GPUs a process uses. All processes that mpirun, srun or ctest start on one
 * machine would take the first one; their environment gives each its GPU.
 */
#ifndef ASSAY_DEVICE_CHOOSE_H
#define ASSAY_DEVICE_CHOOSE_H

#include "assay/status.h"

#include <stdint.h>

#define ASSAY_GPUS "CUDA_VISIBLE_DEVICES"

enum { ASSAY_GPU_LIST = 80 }; /* "MIG-" and a UUID are 41 characters long */

/* The choice depends on these. */
typedef struct assay_gpu_host {
    const char *(*variable)(const char *name); /* NULL: it is not set */
    int32_t (*gpus)(void);                     /* how many the machine has */
} assay_gpu_host;

/*
 * The list for CUDA_VISIBLE_DEVICES, in `list`, or NULL where it is to stay as it is:
 *   the GPU that ctest allocated, by its id in the resource specification;
 *   of a process with a local rank (Open MPI, MPICH and Intel MPI, Slurm), entry rank mod N of the
 *   N in CUDA_VISIBLE_DEVICES, or number rank mod N of the machine's N.
 * Processes that inherit the choice choose the same again.
 */
const char *assay_gpu_choose(const assay_gpu_host *host, char list[ASSAY_GPU_LIST]);

/* Chooses, and sets CUDA_VISIBLE_DEVICES for this process and those that it starts; before the
 * first call of CUDA, which reads it once. */
assay_status assay_gpu_take(void) ASSAY_MUST_CHECK;

#endif
