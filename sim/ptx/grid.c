#include "sim/ptx/grid.h"

#include "sim/trace.h"

#include <stdlib.h>

static struct {
    uint32_t memory[2]; /* its size, and the word that blocks count their arrivals in */
    uint32_t *arrived;  /* of each block, how often; NULL: there is no grid that waits */
    uint64_t n_blocks, came;
    uint32_t phases; /* that are complete */
} grid;

uint32_t *ptx_grid_begin(uint64_t n_blocks) {
    grid.memory[0] = sizeof grid.memory;
    grid.memory[1] = 0;
    grid.n_blocks = n_blocks;
    grid.came = 0;
    grid.phases = 0;
    grid.arrived = calloc(n_blocks, sizeof *grid.arrived);
    return grid.arrived != NULL ? grid.memory : NULL;
}

void ptx_grid_end(void) {
    free(grid.arrived);
    grid.arrived = NULL;
}

static void arrive(const void *word) {
    if (grid.phases == 0 && grid.came == 0)
        trace_mbarrier(SIM_MBARRIER_INIT, word, 0);
    trace_mbarrier(SIM_MBARRIER_ARRIVE, word, 0);
    ++grid.arrived[sim_now.block];
    if (++grid.came < grid.n_blocks)
        return;
    grid.came = 0;
    ++grid.phases;
    trace_mbarrier(SIM_MBARRIER_COMPLETE, word, 0);
}

/* The thread asks whether the phase is complete that its block arrived for last. */
static void wait(const void *word) {
    const uint32_t arrived = grid.arrived[sim_now.block];
    if (arrived > 0 && arrived <= grid.phases)
        trace_mbarrier(SIM_MBARRIER_WAIT, word, (arrived - 1) & 1);
}

void ptx_grid_access(const void *address, size_t bytes, uint32_t how, const void *value,
                     uint32_t site) {
    if (address != &grid.memory[1])
        sim_trace_site(address, bytes, how, value, site);
    else if ((how & SIM_WRITES) != 0)
        arrive(address);
    else
        wait(address);
}
