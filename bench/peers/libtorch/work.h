/* The case at hand: its input sets, and a call for each. */
#ifndef ASSAY_BENCH_PEERS_LIBTORCH_WORK_H
#define ASSAY_BENCH_PEERS_LIBTORCH_WORK_H

#include "bench/peers/libtorch/operators.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/* The arm cannot do this here. */
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* The question makes no sense. */
struct Misuse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Stage { forward, backward, both };

/* Views of the shared memory. */
struct InputSet {
    Tensors inputs, cotangents, outputs, gradients;
};

/* The timed work, on one set. */
class Call {
  public:
    Call(Stage stage, Operator function, const InputSet &given, at::Device device);

    void forward();
    void backward();
    void prepare(); /* not timed: frees the results of the call before, and prepares the next call
                     */
    void run();
    void release();

    int64_t bytes() const; /* of what it was given */

    Tensors outputs, gradients; /* of the last run; empty: none yet */

  private:
    Stage stage;
    Operator function;
    Tensors inputs;
    std::vector<std::string> cotangent_names, gradient_names;
    std::vector<at::Tensor> cotangents, leaves;
};

class Work {
  public:
    Work(const std::string &text, at::Device device);

    void begin_set(size_t number);
    void declare(const std::string &kind, const std::string &name, const at::Tensor &view);

    void ready(const std::string &stage);
    void release();

    Call &call(size_t number);
    std::vector<Call *> turn(); /* the calls that are timed */

    void take(size_t number);
    std::pair<int64_t, int64_t> memory(); /* of one call: most at once, before the backward */

  private:
    at::Device device;
    Operator function;
    Stage stage = Stage::forward;
    std::vector<InputSet> sets;
    std::vector<Call> calls;
};

#endif
