/* Races of a program's kernels, as the recorder finds them (sim/race). */
#ifndef ASSAY_SIM_EXEC_RACE_H
#define ASSAY_SIM_EXEC_RACE_H

#include "sim/exec/module.h"

#include <stdbool.h>

/* "on": accesses are recorded. */
#define EXEC_RACE_VARIABLE "ASSAY_EXEC_RACE"

bool exec_race_records(void);

/* Accesses of a module's kernels are recorded if they are to be. */
void exec_race_module(ptx_module *module);

/* Reports the findings of the last launch, of this kernel. */
void exec_race_tell(const exec_kernel *kernel);

#endif
