/* The GPU's work for oracles. It is a module of its own, which the process of the variants does not
 * load. */
#include "assay/device.h"
#include "device/gemm.h"
#include "device/kernel.h"

extern "C" const assay_device_oracle *const assay_cuda_oracles[];
extern "C" const int32_t assay_cuda_n_oracles;

extern "C" __attribute__((visibility("default"))) const assay_device_aid *
assay_device_aid_module() {
    static assay_device_aid aid;
    aid = {assay_cuda_gemm, assay_cuda_oracles, assay_cuda_n_oracles};
    return &aid;
}
