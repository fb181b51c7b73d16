#include "sim/count/count_memory.h"

#include "sim/allocation.h"
#include "sim/runtime.h"

#include <link.h>
#include <string.h>

enum { PARTS = 2, STATICS = 256 };

/* CUDA's built-in variables, of the thread that runs. */
extern uint3 threadIdx, blockIdx, blockDim, gridDim;

static struct {
    sim_range shared[PARTS];
    sim_range statics[STATICS]; /* variables of all loaded objects */
    int32_t n_statics;
} memory;

static int note_statics(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum && memory.n_statics < STATICS; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        char *low = (char *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0)
            memory.statics[memory.n_statics++] = (sim_range){low, low + segment->p_memsz};
    }
    return 0;
}

static bool is_built_in(const volatile char *address) {
    const uint3 *const variables[] = {&threadIdx, &blockIdx, &blockDim, &gridDim};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
        char *low = (char *)(uintptr_t)variables[i];
        if (sim_in_range(&(sim_range){low, low + sizeof *variables[i]}, address))
            return true;
    }
    return false;
}

/* A variable of the program that a kernel changes is a __shared__ one, also where gcc left it out
 * of its section, as it does with those of templates. */
static bool is_static(const volatile char *address) {
    for (int32_t i = 0; i < memory.n_statics; ++i)
        if (sim_in_range(&memory.statics[i], address))
            return !is_built_in(address);
    return false;
}

void sim_memory_launch(void) {
    memory.n_statics = 0;
    dl_iterate_phdr(note_statics, NULL);
}

void sim_memory_block(const sim_range shared[2]) {
    memcpy(memory.shared, shared, sizeof memory.shared);
}

bool sim_memory_find(const volatile void *address, bool statics, bool *shared, uintptr_t *place) {
    *shared = true;
    *place = (uintptr_t)address;
    for (int32_t p = 0; p < PARTS; ++p)
        if (sim_in_range(&memory.shared[p], address)) {
            *place -= (uintptr_t)memory.shared[p].low - (uintptr_t)p * ASSAY_MAX_SHARED;
            return true;
        }
    if (sim_in_range(&sim_stacks, address))
        return false;
    *shared = sim_allocation_of(address) == NULL;
    return !*shared || (statics && is_static(address));
}
