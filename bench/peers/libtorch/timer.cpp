#include "bench/peers/libtorch/timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

static const double warm_sample = 1000; /* microseconds that it lasts, or a little longer */
static const double most_calls = 256;

int64_t calls_of_a_sample(const Turn &turn, double duration) {
    const double wanted = std::ceil(warm_sample / std::max(duration, 1e-3));
    const double sets = static_cast<double>(turn.size());
    return static_cast<int64_t>(std::ceil(std::clamp(wanted, 1.0, most_calls) / sets) * sets);
}

double microseconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::micro>(now).count();
}

namespace {

class HostTimer : public Timer {
  public:
    std::vector<double> cold(const Turn &turn, int64_t count) override {
        std::vector<double> samples;
        for (int64_t i = 0; i < count; ++i) {
            Call &call = *turn[static_cast<size_t>(i) % turn.size()];
            call.prepare();
            const double begin = microseconds();
            call.run();
            samples.push_back(microseconds() - begin);
        }
        return samples;
    }

    std::vector<double> warm(const Turn &turn, int64_t count) override {
        const int64_t number = calls_of_a_sample(turn, cold(turn, 1)[0]);
        std::vector<double> samples;
        for (int64_t i = 0; i < count; ++i) {
            const double begin = microseconds();
            burst(turn, number);
            samples.push_back((microseconds() - begin) / static_cast<double>(number));
        }
        return samples;
    }

    void burst(const Turn &turn, int64_t count) override {
        for (int64_t i = 0; i < count; ++i)
            turn[static_cast<size_t>(i) % turn.size()]->run();
    }

    void synchronise() override {
    }
    void forget() override {
    }
};

} // namespace

std::unique_ptr<Timer> host_timer() {
    return std::make_unique<HostTimer>();
}
