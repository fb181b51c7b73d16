"""weighted_sum as an extension of PyTorch's by load_inline: right, and with usual bugs.
`torch_extension.py [cuda]` builds it, in C++ or with a kernel; a guest, which may write nowhere, imports the
result. The kernel's source has no header of PyTorch's, which nvcc takes half a minute for."""
import os
import sys

import torch

CALLS = """
#include <torch/extension.h>

void sum_rows(const float *x, const float *w, float *y, int64_t rows, int64_t stride, int64_t d);

torch::Tensor sum_of(torch::Tensor x, torch::Tensor w, int64_t stride, int64_t d) {
    auto y = torch::empty({x.size(0)}, x.options());
    sum_rows(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(0), stride, d);
    return y;
}
torch::Tensor weighted_sum(torch::Tensor x, torch::Tensor w) {
    return sum_of(x, w, x.stride(0), x.size(1));
}
torch::Tensor packed(torch::Tensor x, torch::Tensor w) { // rows have no gaps between them
    return sum_of(x, w, x.size(1), x.size(1));
}
torch::Tensor no_tail(torch::Tensor x, torch::Tensor w) { // rows are multiples of 4
    return sum_of(x, w, x.stride(0), x.size(1) / 4 * 4);
}
"""

CPU = """
void sum_rows(const float *x, const float *w, float *y, int64_t rows, int64_t stride, int64_t d) {
    for (int64_t i = 0; i < rows; ++i) {
        y[i] = 0;
        for (int64_t j = 0; j < d; ++j)
            y[i] += x[i * stride + j] * w[j];
    }
}
"""

STREAM = """
#include <c10/cuda/CUDAStream.h>

cudaStream_t current_stream() { return c10::cuda::getCurrentCUDAStream(); }
"""

CUDA = """
#include <stdint.h>

cudaStream_t current_stream();

__global__ void sums(const float *x, const float *w, float *y, int64_t rows, int64_t stride, int64_t d) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (i >= rows)
        return;
    for (int64_t j = 0; j < d; ++j)
        sum += x[i * stride + j] * w[j];
    y[i] = sum;
}

void sum_rows(const float *x, const float *w, float *y, int64_t rows, int64_t stride, int64_t d) {
    sums<<<(rows + 127) / 128, 128, 0, current_stream()>>>(x, w, y, rows, stride, d);
}
"""

if __name__ == "__main__":
    from torch.utils.cpp_extension import load_inline

    os.makedirs("built", exist_ok=True)
    cuda = sys.argv[1:] == ["cuda"]
    load_inline("sums", cpp_sources=CALLS + (STREAM if cuda else CPU), cuda_sources=CUDA if cuda else None,
                functions=["weighted_sum", "packed", "no_tail"], build_directory="built", no_implicit_headers=True)
else:
    from built import sums

    def weighted_sum(x, w):
        return sums.weighted_sum(x, w)

    def weighted_sum_backward(x, w, dy):
        return dy[:, None] * w, dy @ x

    def packed(x, w):
        return sums.packed(x, w)

    def no_tail(x, w):
        return sums.no_tail(x, w)

    def no_cotangent(x, w, dy):
        return dy[:, None] * w, x.sum(0)
