/* Places in the source, as numbers that fit into a cell of the shadow. */
#ifndef ASSAY_SIM_RACE_PLACE_H
#define ASSAY_SIM_RACE_PLACE_H

#include "sim/race/race.h"
#include "sim/runtime.h"

/* A launch begins: sites[i] is place i + 1. */
void sim_places_begin(const sim_site *sites, size_t n);

/* Of a line, and of the instruction before a return address; 0: there are too many. */
uint32_t sim_place_of_line(const char *file, int line);
uint32_t sim_place_of_address(uintptr_t address);

sim_source sim_place_source(uint32_t place);
/* The file's path, where that is known; otherwise "". */
const char *sim_place_path(uint32_t place);

#endif
