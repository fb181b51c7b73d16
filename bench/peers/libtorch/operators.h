/* The operators as LibTorch has them. */
#ifndef ASSAY_BENCH_PEERS_LIBTORCH_OPERATORS_H
#define ASSAY_BENCH_PEERS_LIBTORCH_OPERATORS_H

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>

using Tensors = std::map<std::string, at::Tensor>; /* by name */
using Words = std::map<std::string, std::string>;  /* a case's keys and values */

/* Outputs of inputs. */
using Operator = std::function<Tensors(const Tensors &)>;

/* Empty where there is none of that name. */
Operator operator_of(const std::string &name, const Words &words);

#endif
