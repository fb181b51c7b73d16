#include "bench/peers/libtorch/timer.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

static const double least_busy = 200, most_busy = 200e3; /* microseconds */
static const int64_t least_filler = INT64_C(128) << 20;  /* bytes */

using Step = std::function<void()>;

namespace {

c10::cuda::CUDAStream first_stream() {
    at::globalContext().lazyInitDevice(at::kCUDA);
    return c10::cuda::getStreamFromPool(/*isHighPriority=*/false, 0);
}

/* On a stream that is the current one from then on: graphs are captured from no other than the
 * default one. */
class CudaTimer : public Timer {
  public:
    CudaTimer() : stream(first_stream()) {
        c10::cuda::setCurrentCUDAStream(stream);
        const int64_t cache = at::cuda::getDeviceProperties(0)->l2CacheSize;
        cache_filler =
            at::empty({std::max(2 * cache, least_filler)}, at::device(at::kCUDA).dtype(at::kByte));
        cycles = cycles_of_a_microsecond();
    }

    std::vector<double> cold(const Turn &turn, int64_t count) override;
    std::vector<double> warm(const Turn &turn, int64_t count) override;
    void burst(const Turn &turn, int64_t count) override;

    void synchronise() override {
        c10::cuda::device_synchronize();
    }

    void forget() override {
        written.clear();
        graph.reset();
        number = 0;
        busy = least_busy;
    }

  private:
    /* What a graph writes on each replay. */
    struct Written {
        Call *call;
        Tensors outputs, gradients;
    };

    double cycles_of_a_microsecond();
    double queued(const Step &before, const Step &function, double *enqueuing);
    double timed(const Step &prepare, const Step &before, const Step &function);
    void settle(const Turn &turn);
    void capture(const Turn &turn);
    void run(const Turn &turn, int64_t count);
    void sample(const Turn &turn);

    c10::cuda::CUDAStream stream;
    at::Tensor cache_filler;
    double cycles = 0; /* of the busy kernel, in a microsecond */
    double busy = least_busy;
    int64_t number = 0;                         /* calls of a warm sample; 0: not known yet */
    std::unique_ptr<at::cuda::CUDAGraph> graph; /* of as many; none: it cannot be captured */
    std::vector<Written> written;
};

/* At the clock of a GPU that is at work. */
double CudaTimer::cycles_of_a_microsecond() {
    const int64_t waited = 10000000;
    const auto nothing = [] {};
    double shortest = INFINITY, enqueuing;
    cycles = 0;
    for (int i = 0; i < 4; ++i)
        shortest = std::min(shortest, queued(
                                          nothing, [&] { at::cuda::sleep(waited); }, &enqueuing));
    return static_cast<double>(waited) / shortest;
}

/* The microseconds of `function` alone; the GPU is busy, then does `before`, while all of it is
 * enqueued. Tells what that took the host. */
double CudaTimer::queued(const Step &before, const Step &function, double *enqueuing) {
    at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
    at::cuda::sleep(static_cast<int64_t>(busy * cycles));
    before();
    const double start = microseconds();
    begin.record(stream);
    function();
    end.record(stream);
    *enqueuing = microseconds() - start;
    end.synchronize();
    return 1e3 * static_cast<double>(begin.elapsed_time(end));
}

double CudaTimer::timed(const Step &prepare, const Step &before, const Step &function) {
    double enqueuing;
    prepare();
    const double duration = queued(before, function, &enqueuing);
    if (busy >= std::min(enqueuing, most_busy))
        return duration;
    /* The GPU may have waited for the host: again, and from now on with more patience. */
    busy = std::min(2 * enqueuing, most_busy);
    prepare();
    return queued(before, function, &enqueuing);
}

std::vector<double> CudaTimer::cold(const Turn &turn, int64_t count) {
    std::vector<double> samples;
    for (int64_t i = 0; i < count; ++i) {
        Call &call = *turn[static_cast<size_t>(i) % turn.size()];
        samples.push_back(
            timed([&] { call.prepare(); }, [&] { cache_filler.zero_(); }, [&] { call.run(); }));
    }
    return samples;
}

void CudaTimer::run(const Turn &turn, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        turn[static_cast<size_t>(i) % turn.size()]->run();
}

/* Whether all went well; a capture that broke off has been ended, too. */
static bool captured(at::cuda::CUDAGraph *graph, const Step &calls) {
    graph->capture_begin();
    try {
        calls();
    } catch (const c10::Error &error) {
        std::fprintf(stderr, "not captured in a CUDA graph, warm calls are a loop: %s\n",
                     error.what_without_backtrace());
        try {
            graph->capture_end();
        } catch (const c10::Error &) { /* that it broke off is known */
        }
        return false;
    }
    graph->capture_end();
    return true;
}

void CudaTimer::capture(const Turn &turn) {
    for (Call *call : turn)
        call->prepare();
    synchronise();
    graph = std::make_unique<at::cuda::CUDAGraph>();
    if (!captured(graph.get(), [&] { run(turn, number); })) {
        graph.reset();
        return;
    }
    for (Call *call : turn)
        written.push_back({call, call->outputs, call->gradients});
}

/* Chooses the number of calls of a sample, and captures them if they can be. */
void CudaTimer::settle(const Turn &turn) {
    if (number != 0)
        return;
    std::vector<double> durations = cold(turn, 3);
    std::sort(durations.begin(), durations.end());
    number = calls_of_a_sample(turn, durations[1]);
    capture(turn);
}

void CudaTimer::sample(const Turn &turn) {
    if (!graph) {
        run(turn, number);
        return;
    }
    graph->replay();
    for (const Written &each : written) {
        each.call->outputs = each.outputs;
        each.call->gradients = each.gradients;
    }
}

std::vector<double> CudaTimer::warm(const Turn &turn, int64_t count) {
    settle(turn);
    const auto nothing = [] {};
    std::vector<double> samples;
    for (int64_t i = 0; i < count; ++i)
        samples.push_back(timed(nothing, nothing, [&] { sample(turn); }) /
                          static_cast<double>(number));
    return samples;
}

void CudaTimer::burst(const Turn &turn, int64_t count) {
    settle(turn);
    for (int64_t i = 0; i < count / number; ++i)
        sample(turn);
    run(turn, count % number);
    synchronise();
}

} // namespace

std::unique_ptr<Timer> cuda_timer() {
    return std::make_unique<CudaTimer>();
}
