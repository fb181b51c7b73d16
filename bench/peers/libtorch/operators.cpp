#include "bench/peers/libtorch/operators.h"

#include <ATen/ATen.h>

namespace {

double real(const Words &words, const std::string &key, double fallback) {
    const auto found = words.find(key);
    return found == words.end() ? fallback : std::stod(found->second);
}

Operator weighted_sum(const Words &) {
    return [](const Tensors &in) { return Tensors{{"y", at::matmul(in.at("x"), in.at("w"))}}; };
}

Operator linear(const Words &) {
    return [](const Tensors &in) { return Tensors{{"y", at::linear(in.at("x"), in.at("w"))}}; };
}

Operator conv3d_groupnorm_mean(const Words &words) {
    const auto groups = static_cast<int64_t>(real(words, "g", 1));
    const double eps = real(words, "eps", 1e-5);
    return [groups, eps](const Tensors &in) {
        const at::Tensor c = at::conv3d(in.at("x"), in.at("w"), in.at("b"));
        const at::Tensor z = at::group_norm(c, groups, in.at("gamma"), in.at("beta"), eps);
        return Tensors{{"y", z.mean({1, 2, 3, 4})}};
    };
}

} // namespace

Operator operator_of(const std::string &name, const Words &words) {
    if (name == "weighted_sum")
        return weighted_sum(words);
    if (name == "linear")
        return linear(words);
    if (name == "conv3d_groupnorm_mean")
        return conv3d_groupnorm_mean(words);
    return {};
}
