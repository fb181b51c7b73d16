/* The compiler calls this file at the beginning of each basic block of a kernel file, in builds
 * with -DASSAY_COVERAGE=ON. */
#include "sim/sim.h"

#include <string.h>

enum { EDGES = 1 << 16 };

/* The simulated device runs one thread at a time. */
static uint8_t taken[EDGES];

void sim_coverage_take(uint8_t *edges, size_t n) {
    memset(edges, 0, n);
    for (size_t e = 0; e < EDGES; ++e)
        edges[e % n] |= taken[e];
    memset(taken, 0, sizeof taken);
}

#if defined(__clang__)
/* Each guard has a number, given when its object is loaded. */
void __sanitizer_cov_trace_pc_guard_init(uint32_t *first, uint32_t *last);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

void __sanitizer_cov_trace_pc_guard_init(uint32_t *first, uint32_t *last) {
    static uint32_t next;
    for (; first < last; ++first)
        *first = *first != 0 ? *first : ++next;
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    taken[*guard % EDGES] = 1;
}
#else
/* The program's own code, as the linker placed it. */
extern const char __executable_start[], __etext[];

/* The same in each process: a kernel file that is loaded lies somewhere else each time, but begins
 * a page. */
static uint32_t place_of(uintptr_t at) {
    enum { PAGE = 1 << 12 };
    const uintptr_t first = (uintptr_t)__executable_start;
    const uintptr_t offset = at >= first && at < (uintptr_t)__etext ? at - first : at % PAGE;
    return (uint32_t)(offset * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void) {
    taken[place_of((uintptr_t)__builtin_return_address(0)) % EDGES] = 1;
}
#endif
