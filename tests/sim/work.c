#include "tests/sim/work.h"
#include "sim/count/count.h"

/* Nanoseconds, as tests/sim/bench.c measures them, about. */
static const double of_thread = 20, of_access = 1, of_meeting = 16, of_product = 2000;

void sim_work_begin(void) {
    sim_count_begin();
}

static double lanes_of(const sim_requests requests[SIM_ACCESSES]) {
    double lanes = 0;
    for (int a = 0; a < SIM_ACCESSES; ++a)
        lanes += (double)requests[a].lanes;
    return lanes;
}

static double work_of(const sim_count *c) {
    enum { WARP = 32 };
    const sim_meetings *m = &c->met;
    const double block = (double)c->block.x * c->block.y * c->block.z;
    const double threads = block * c->grid.x * c->grid.y * c->grid.z;
    const uint64_t warps = m->syncwarps + m->shuffles + m->votes + m->matches + m->reductions +
                           m->ldmatrix + m->cp_async;
    const uint64_t products = m->mma_bf16 + m->mma_f16 + m->mma_tf32 + m->mma_f64;
    return of_thread * threads + of_access * (lanes_of(c->global) + lanes_of(c->shared)) +
           of_meeting * ((double)m->barriers * block + WARP * (double)warps) +
           of_product * (double)products;
}

double sim_work_end(void) {
    double work = 0;
    sim_count_end();
    for (int32_t i = 0; i < sim_count_launches(); ++i)
        work += work_of(sim_count_at(i));
    return work;
}
