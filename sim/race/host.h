/* Memory that kernels of C++ may access although the device did not allocate it. */
#ifndef ASSAY_SIM_RACE_HOST_H
#define ASSAY_SIM_RACE_HOST_H

#include <stdbool.h>

/* A launch begins, on the stack of its caller: a launch's arguments lie there. */
void sim_host_launch(const void *frame);

/* Whether an address lies in a loaded object, as constants and `__device__` variables do, or on
 * that stack. */
bool sim_is_host(const volatile void *address);

#endif
