"""weighted_sum as an extension of PyTorch's in C++, or in CUDA where there is a GPU: right, and with usual bugs.
Executed, this file builds it; a guest, which may write nowhere, imports the result."""
import os

import torch

CALLS = """
torch::Tensor weighted_sum(torch::Tensor x, torch::Tensor w);
torch::Tensor packed(torch::Tensor x, torch::Tensor w);
torch::Tensor no_tail(torch::Tensor x, torch::Tensor w);
"""

CPU = """
torch::Tensor sum_of(torch::Tensor x, torch::Tensor w, int64_t stride, int64_t d) {
    auto y = torch::empty({x.size(0)}, x.options());
    for (int64_t i = 0; i < x.size(0); ++i) {
        const float *row = x.data_ptr<float>() + i * stride;
        float sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum += row[j] * w.data_ptr<float>()[j];
        y.data_ptr<float>()[i] = sum;
    }
    return y;
}
"""

CUDA = """
#include <ATen/cuda/CUDAContext.h>

__global__ void sum_rows(const float *x, const float *w, float *y, int64_t rows, int64_t stride, int64_t d) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (i >= rows)
        return;
    for (int64_t j = 0; j < d; ++j)
        sum += x[i * stride + j] * w[j];
    y[i] = sum;
}

torch::Tensor sum_of(torch::Tensor x, torch::Tensor w, int64_t stride, int64_t d) {
    auto y = torch::empty({x.size(0)}, x.options());
    sum_rows<<<(x.size(0) + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.size(0), stride, d);
    return y;
}
"""

FUNCTIONS = """
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

if __name__ == "__main__":
    from torch.utils.cpp_extension import load_inline

    os.makedirs("built", exist_ok=True)
    cuda = torch.cuda.is_available()
    load_inline("sums", cpp_sources=CALLS if cuda else CPU + FUNCTIONS,
                cuda_sources=CUDA + FUNCTIONS if cuda else None,
                functions=["weighted_sum", "packed", "no_tail"], build_directory="built")
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
