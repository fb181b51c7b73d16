/*
 * Every kernel file includes this header, under both compilers: nvcc gets CUDA C from the toolkit,
 * the host's compiler gets it from sim/cuda.h. Kernel files are plain CUDA C with these rules:
 *
 *   - kernels are `static __global__ void`; templates only where they remove copies;
 *   - launches go through ASSAY_LAUNCH, dynamic shared memory through ASSAY_DYNAMIC_SHARED;
 *   - products that feed a sum are written fma_(a, b, c) (numeric.h): contraction is off;
 *   - indices are 64-bit and guarded;
 *   - grid sizes and plans depend on shapes, constants and ASSAY_MULTIPROCESSORS only, so that a
 *     sum has one order on every device with that many multiprocessors.
 */
#ifndef ASSAY_DEVICE_KERNEL_H
#define ASSAY_DEVICE_KERNEL_H

#include "assay/variant.h"

#if defined(__CUDACC__)
#include "device/cuda.h"
#else
#include "sim/cuda.h"
#endif

/*
 * Defines the variant that this file implements:
 *
 *     ASSAY_VARIANT(weighted_sum, v1) = {.op = "weighted_sum", .name = "v1", ...};
 *
 * `.device` is ASSAY_DEVICE_NAME.
 */
#define ASSAY_VARIANT(op, name)             ASSAY_VARIANT_FOR(op, name, ASSAY_DEVICE)
#define ASSAY_VARIANT_FOR(op, name, device) ASSAY_VARIANT_SYMBOL(op, name, device)
#define ASSAY_VARIANT_SYMBOL(op, name, device)                                                     \
    extern "C" const assay_variant assay_variant_##op##_##name##_##device;                         \
    const assay_variant assay_variant_##op##_##name##_##device

/*
 * Both compilers' headers above provide:
 *
 * ASSAY_DEVICE, ASSAY_DEVICE_NAME
 *     cuda, "cuda" or sim, "sim".
 * assay_status ASSAY_LAUNCH(void *stream, dim3 grid, dim3 block, size_t shared_bytes,
 *                           kernel, arguments...)
 *     Launches `kernel` (parenthesise a template: (kernel<float, 4>)) and says how the launch
 *     went. Opts in to more than 48 KB of dynamic shared memory by itself. A grid with an empty
 *     axis is not launched and is ASSAY_OK.
 * assay_status ASSAY_LAUNCH_CLUSTERS(void *stream, unsigned cluster, dim3 grid, ...)
 *     The same in clusters of so many blocks along x, of which the grid has a whole number; of a
 *     kernel without static shared memory, on sm_90.
 * ASSAY_DYNAMIC_SHARED(type, name);
 *     In a kernel: declares `type *name`, the launch's dynamic shared memory, 16-byte aligned.
 * T load_whole(const T *from);
 *     *from, which the host's compiler may not split: one instruction on the GPU, and one access to
 *     the simulated device that records them.
 * ASSAY_MAX_GRID
 *     The most blocks that linear_grid() (grid.h) asks for.
 * ASSAY_MULTIPROCESSORS
 *     The number of multiprocessors for which kernels plan their blocks: those of the device. The
 *     simulated device has two, so that small cases see plans for few blocks and plans for many,
 *     and is told otherwise where it must give the GPU's bits: no constant expression.
 * ASSAY_MAX_SHARED
 *     Bytes of shared memory that one block may have, static and dynamic: 232448 (227 KB).
 * ASSAY_SHARED_BUDGET
 *     Bytes of it that a kernel plans with, if it has another way for data that do not fit. The
 *     simulated device that records accesses has few, so that kernels go these other ways at sizes
 *     that it can afford.
 */

#endif
