#include "sim/fiber.h"

#include "sim/trace.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(SIM_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

enum {
    PAGE = 4096,
    STACK = 128 * 1024,   /* untouched pages cost nothing */
    SLOT = STACK + PAGE,  /* a guard page below each stack */
    COLOURS = 16,         /* stacks start at different cache sets: */
    COLOUR_BYTES = 5 * 64 /* equally placed frames would evict each other */
};

sim_range sim_stacks;

static struct {
    void (*entry)(void);
    sim_fiber host, *fiber;
    sim_fiber **idle; /* a stack: the last one released is warm in the cache */
#if defined(SIM_ASAN)
    sim_fiber *from; /* the fiber that switched last */
#endif
    int32_t n_fibers, n_idle, most;
} pool;

static void give_back(void) {
    if (sim_stacks.low) {
        sim_poison(sim_stacks.low, (size_t)(sim_stacks.high - sim_stacks.low), false);
        munmap(sim_stacks.low, (size_t)(sim_stacks.high - sim_stacks.low));
    }
    free(pool.fiber);
    free(pool.idle);
    sim_stacks = (sim_range){NULL, NULL};
    pool.fiber = NULL;
    pool.idle = NULL;
    pool.n_fibers = pool.n_idle = pool.most = 0;
}

/* All fibers are idle: what they run can begin anew on other stacks. */
assay_status sim_fiber_setup(void (*entry)(void), int32_t most) {
    if (pool.most >= most)
        return ASSAY_OK;
    give_back();
    size_t bytes = (size_t)most * SLOT;
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "simulated device: no address space for %zu bytes of stacks: %s; raise "
                          "the limit (ulimit -v)",
                          bytes, strerror(errno));
    sim_stacks = (sim_range){memory, (char *)memory + bytes};
    pool.entry = entry;
    pool.fiber = calloc((size_t)most, sizeof *pool.fiber);
    pool.idle = calloc((size_t)most, sizeof(sim_fiber *));
    if (!pool.fiber || !pool.idle) {
        give_back();
        return assay_fail(ASSAY_ERR_MEMORY, "simulated device: no memory for %d threads", most);
    }
    pool.most = most;
    return ASSAY_OK;
}

sim_fiber *sim_fiber_host(void) {
    return &pool.host;
}

#if defined(SIM_ASAN)
/* The stack that ran before belongs to pool.from: AddressSanitizer tells its bounds, which are not
 * known for the host's. */
static void arrived(void *fake_stack) {
    const void *low;
    __sanitizer_finish_switch_fiber(fake_stack, &low, &pool.from->size);
    memcpy(&pool.from->low, &low, sizeof low);
}

void sim_fiber_switch(sim_fiber *from, sim_fiber *to) {
    pool.from = from;
    __sanitizer_start_switch_fiber(&from->fake_stack, to->low, to->size);
    sim_context_switch(&from->context, &to->context);
    arrived(from->fake_stack);
}
#endif

static void first_entry(void) {
#if defined(SIM_ASAN)
    arrived(NULL);
#endif
    pool.entry();
}

static sim_fiber *create(void) {
    size_t i = (size_t)pool.n_fibers;
    if (pool.n_fibers == pool.most)
        return NULL;
    char *low = sim_stacks.low + i * SLOT + PAGE;
    if (mprotect(low, STACK, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    sim_fiber *fiber = &pool.fiber[pool.n_fibers++];
    *fiber = (sim_fiber){.low = low, .size = STACK - i % COLOURS * COLOUR_BYTES, .fresh = true};
    return fiber;
}

sim_fiber *sim_fiber_acquire(void) {
    sim_fiber *fiber = pool.n_idle > 0 ? pool.idle[--pool.n_idle] : create();
    if (fiber && fiber->fresh) {
        sim_context_init(&fiber->context, fiber->low, fiber->size, first_entry);
        fiber->fresh = false;
    }
    return fiber;
}

void sim_fiber_release(sim_fiber *fiber) {
    pool.idle[pool.n_idle++] = fiber;
}

void sim_fiber_abandon_all(void) {
    pool.n_idle = 0;
    for (int32_t i = pool.n_fibers - 1; i >= 0; --i) {
        sim_fiber *fiber = &pool.fiber[i];
        sim_poison(fiber->low, fiber->size, false); /* redzones of frames that never returned */
        fiber->fake_stack = NULL;
        fiber->fresh = true;
        sim_fiber_release(fiber);
    }
}
