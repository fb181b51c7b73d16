/* The device's allocations, by address. */
#ifndef ASSAY_SIM_ALLOCATION_H
#define ASSAY_SIM_ALLOCATION_H

#include "sim/trace.h"

/* NULL: nothing of the device's. trace_alloc() and trace_release() tell what is. */
const sim_range *sim_allocation_of(const volatile void *address);

/* Whether there is one: a faster answer. */
bool sim_is_allocated(const volatile void *address);

/* Whether one fills the page of 4 KB that holds the address. */
bool sim_is_allocated_whole(uintptr_t address);

#endif
