/* One request of a warp, and its cost. */
#ifndef ASSAY_SIM_COUNT_COUNT_REQUEST_H
#define ASSAY_SIM_COUNT_COUNT_REQUEST_H

#include "sim/count/count.h"
#include "sim/trace.h"

enum { SIM_WIDEST = 16 }; /* bytes that one lane can ask for at once */

typedef struct sim_request {
    uint32_t lanes; /* a bit for each that takes part */
    uint8_t bytes[SIM_WARP];
    uintptr_t address[SIM_WARP]; /* in shared memory: from the start of its part */
} sim_request;

/* Adds it to the requests of global memory; of shared memory. */
void sim_request_global(const sim_request *r, sim_requests *sum);
void sim_request_shared(const sim_request *r, sim_requests *sum);

/* The lanes at the address that most lanes share, less one. */
uint64_t sim_request_repeats(const sim_request *r);

#endif
