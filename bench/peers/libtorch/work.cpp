#include "bench/peers/libtorch/work.h"

#include "bench/peers/libtorch/device_memory.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <sstream>

namespace {

at::Tensor moved(const at::Tensor &view, at::Device device) {
    return view.to(device, view.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
}

int64_t bytes_of(const Tensors &tensors) {
    int64_t bytes = 0;
    for (const auto &[name, tensor] : tensors)
        bytes += static_cast<int64_t>(tensor.nbytes());
    return bytes;
}

Stage stage_of(const std::string &name) {
    if (name == "forward")
        return Stage::forward;
    if (name == "backward")
        return Stage::backward;
    if (name == "forward+backward")
        return Stage::both;
    throw Misuse(name + " is no stage; one of forward backward forward+backward");
}

} // namespace

/* ---- a call ---- */

Call::Call(Stage stage, Operator function, const InputSet &given, at::Device device)
    : stage(stage), function(std::move(function)) {
    for (const auto &[name, view] : given.inputs)
        inputs[name] = moved(view, device);
    if (stage == Stage::forward)
        return;
    if (given.gradients.empty() || given.cotangents.empty())
        throw Misuse("ready: no `cot` or no `grad` was given");
    for (const auto &[name, view] : given.gradients) {
        if (inputs.count(name) == 0)
            throw Misuse("grad " + name + ": no such input");
        gradient_names.push_back(name);
        leaves.push_back(inputs[name].requires_grad_(true));
    }
    for (const auto &[name, view] : given.cotangents) {
        cotangent_names.push_back(name);
        cotangents.push_back(moved(view, device));
    }
}

void Call::forward() {
    outputs = function(inputs);
}

/* The forward's graph is kept: this may be called again. */
void Call::backward() {
    std::vector<at::Tensor> results;
    for (const std::string &name : cotangent_names)
        results.push_back(outputs.at(name));
    const auto found = torch::autograd::grad(results, leaves, cotangents, /*retain_graph=*/true);
    for (size_t i = 0; i < gradient_names.size(); ++i)
        gradients[gradient_names[i]] = found[i];
}

void Call::prepare() {
    gradients.clear();
    if (stage != Stage::backward)
        outputs.clear();
    else if (outputs.empty())
        forward();
}

void Call::run() {
    if (stage != Stage::backward)
        forward();
    if (stage != Stage::forward)
        backward();
}

void Call::release() {
    outputs.clear();
    gradients.clear();
}

int64_t Call::bytes() const {
    int64_t bytes = bytes_of(inputs);
    for (const at::Tensor &cotangent : cotangents)
        bytes += static_cast<int64_t>(cotangent.nbytes());
    return bytes;
}

/* ---- a case ---- */

Work::Work(const std::string &text, at::Device device) : device(device) {
    std::istringstream stream(text);
    std::string name, word;
    Words words;
    stream >> name;
    while (stream >> word) {
        const size_t equals = word.find('=');
        if (equals != std::string::npos)
            words[word.substr(0, equals)] = word.substr(equals + 1);
    }
    function = operator_of(name, words);
    if (!function)
        throw Unavailable("LibTorch has no arm for the operator '" + name + "'");
}

void Work::begin_set(size_t number) {
    if (number != sets.size())
        throw Misuse("set " + std::to_string(number) + " comes after " +
                     std::to_string(sets.size()) + " sets");
    sets.emplace_back();
}

void Work::declare(const std::string &kind, const std::string &name, const at::Tensor &view) {
    if (sets.empty())
        throw Misuse(kind + " " + name + ": say `set 0` before");
    InputSet &set = sets.back();
    Tensors &group = kind == "in"    ? set.inputs
                     : kind == "cot" ? set.cotangents
                     : kind == "out" ? set.outputs
                                     : set.gradients;
    group[name] = view;
}

void Work::ready(const std::string &name) {
    stage = stage_of(name);
    if (sets.empty())
        throw Misuse("ready: no set was given");
    release();
    for (const InputSet &given : sets)
        calls.emplace_back(stage, function, given, device);
    for (Call &call : calls) {
        call.prepare();
        call.run();
    }
}

void Work::release() {
    calls.clear();
    if (device.is_cuda())
        device_memory_give_back();
}

Call &Work::call(size_t number) {
    if (number >= calls.size())
        throw Misuse("set " + std::to_string(number) + ": " + std::to_string(calls.size()) +
                     " sets are ready");
    return calls[number];
}

std::vector<Call *> Work::turn() {
    std::vector<Call *> found;
    for (size_t i = calls.size() > 1 ? 1 : 0; i < calls.size(); ++i)
        found.push_back(&calls[i]);
    if (found.empty())
        throw Misuse("say `ready` before");
    return found;
}

/* ---- answers ---- */

static void copy_out(const Tensors &results, const Tensors &views) {
    for (const auto &[name, view] : views) {
        const auto found = results.find(name);
        if (found == results.end())
            throw Misuse("nothing was run on this set, or it has no " + name);
        if (found->second.sizes() != view.sizes() ||
            found->second.scalar_type() != view.scalar_type())
            throw Misuse(name + " has another shape or dtype than the case says");
        at::Tensor target = view;
        target.copy_(found->second.detach());
    }
}

void Work::take(size_t number) {
    const Call &last = call(number);
    if (stage != Stage::backward)
        copy_out(last.outputs, sets[number].outputs);
    if (stage != Stage::forward)
        copy_out(last.gradients, sets[number].gradients);
}

std::pair<int64_t, int64_t> Work::memory() {
    if (!device.is_cuda())
        return {0, 0};
    Call &first = call(0);
    for (Call &each : calls)
        each.release();
    const int64_t others = device_memory_held() - first.bytes();
    device_memory_restart();
    first.forward();
    const int64_t before = device_memory_held() - others;
    if (stage == Stage::forward)
        return {device_memory_most() - others, 0};
    if (stage == Stage::backward)
        device_memory_restart();
    first.backward();
    return {device_memory_most() - others, before};
}
