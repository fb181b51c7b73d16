/* setmaxnreg: the registers that the warpgroups of a block give back and take. */
#ifndef ASSAY_SIM_REGISTERS_H
#define ASSAY_SIM_REGISTERS_H

#include "sim/schedule.h"
#include "sim/threads.h"

enum { SIM_WARPGROUP = 128, SIM_MOST_WARPGROUPS = SIM_MAX_THREADS / SIM_WARPGROUP };

typedef struct sim_registers {
    int32_t of[SIM_MOST_WARPGROUPS]; /* for each of its threads; 0: as it was launched */
    sim_site last;
} sim_registers;

/* Of the block that runs from now on. */
void sim_registers_use(sim_registers *registers);

/* When a block has ended. A warpgroup that asks for more registers than the others leave waits, on
 * a GPU, until they give some back; here it goes on, and this reports what could never be had. */
void sim_registers_block_end(const sim_registers *registers);

#endif
