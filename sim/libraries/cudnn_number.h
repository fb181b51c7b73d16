/* Numbers in memory, for the files of the stand-in for cuDNN: 16-bit types are computed in float.
 */
#ifndef ASSAY_SIM_LIBRARIES_CUDNN_NUMBER_H
#define ASSAY_SIM_LIBRARIES_CUDNN_NUMBER_H

#include "device/dnn.h"

namespace sim_dnn {

inline double loaded(double v) {
    return v;
}
inline float loaded(float v) {
    return v;
}
inline float loaded(__half v) {
    return __half2float(v);
}
inline float loaded(__nv_bfloat16 v) {
    return __bfloat162float(v);
}

inline void store(double *to, double v) {
    *to = v;
}
inline void store(float *to, float v) {
    *to = v;
}
inline void store(__half *to, float v) {
    *to = __float2half_rn(v);
}
inline void store(__nv_bfloat16 *to, float v) {
    *to = __float2bfloat16_rn(v);
}

inline size_t element_size(cudnnDataType_t type) {
    switch (type) {
    case CUDNN_DATA_DOUBLE:
        return sizeof(double);
    case CUDNN_DATA_FLOAT:
        return sizeof(float);
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
        break;
    }
    return sizeof(uint16_t);
}

} // namespace sim_dnn

#endif
