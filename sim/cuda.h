/*
 * CUDA C for the host compiler: the part that kernel files may use, with the meaning that the
 * simulated device gives it (docs/simulated-device.md). device/kernel.h includes this; the build
 * compiles each kernel file through a C++ file that first sets ASSAY_SHARED_SECTION to a section
 * name of the kernel file's own.
 */
#ifndef ASSAY_SIM_CUDA_H
#define ASSAY_SIM_CUDA_H

#include "sim/runtime.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#define ASSAY_DEVICE      sim
#define ASSAY_DEVICE_NAME "sim"

/* The dot matters: without one AddressSanitizer takes the section's layout for the program's own
 * business and leaves its variables without redzones. */
#if !defined(ASSAY_SHARED_SECTION)
#define ASSAY_SHARED_SECTION ".assay.shared"
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

/* Where accesses are recorded, gcc leaves gaps before each declaration and behind the file's last
 * one: what it writes into its assembly as a section's name goes on there for some lines, of which
 * the last is a comment. The assembler puts subsection 1 behind all of 0. */
#if defined(ASSAY_RECORDED) && !defined(__clang__)
#define SIM_TEXT_OF(number) #number
#define SIM_GAP(number)                                                                            \
    ",\"aw\"\n\t.subsection 1\n\t.skip 32\n\t.subsection 0\n\t.skip 32\n\t#" SIM_TEXT_OF(number)
#define __shared__ static __attribute__((section(ASSAY_SHARED_SECTION SIM_GAP(__COUNTER__))))
#else
#define __shared__ static __attribute__((section(ASSAY_SHARED_SECTION)))
#endif

/* One definition in every kernel file: an `inline` one would be shared with C++ files that are
 * compiled without the kernels' instrumentation. */
#define SIM_INLINE static inline __attribute__((always_inline, unused))
/* Parameters that the caller leaves out: where the kernel makes the call. */
#define SIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#include "sim/vector.h"

extern "C" {
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
}
static const int warpSize __attribute__((unused)) = 32;

#include "sim/atomic.h"
#include "sim/collective.h"
#include "sim/scalar.h"

#include "sim/approximate.h"

#if __has_include("sim/bfloat.h")
#include "sim/bfloat.h"
#endif

#include "sim/launch.h"

/* As in CUDA, a failed assertion ends the launch. */
#if !defined(NDEBUG)
#undef assert
#define assert(condition)                                                                          \
    ((condition) ? (void)0 : sim_trap("failed assertion", #condition, __FILE__, __LINE__))
#endif

#endif
