/* How calls are timed, as docs/bench.md says; in microseconds, the sets in turn. */
#ifndef ASSAY_BENCH_PEERS_LIBTORCH_TIMER_H
#define ASSAY_BENCH_PEERS_LIBTORCH_TIMER_H

#include "bench/peers/libtorch/work.h"

#include <memory>
#include <vector>

using Turn = std::vector<Call *>;

class Timer {
  public:
    virtual ~Timer() = default;
    virtual std::vector<double> cold(const Turn &turn, int64_t count) = 0;
    virtual std::vector<double> warm(const Turn &turn, int64_t count) = 0;
    virtual void burst(const Turn &turn, int64_t count) = 0;
    virtual void synchronise() = 0;
    virtual void forget() = 0; /* another stage or case comes */
};

std::unique_ptr<Timer> host_timer(); /* by the CPU's clock: for trying arms, not for records */
std::unique_ptr<Timer> cuda_timer(); /* by events, on a stream of its own */

/* How many calls make a warm sample of calls that last so long, each set as often as the others. */
int64_t calls_of_a_sample(const Turn &turn, double microseconds);

/* By the host's clock. */
double microseconds();

#endif
