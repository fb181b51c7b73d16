#include "golden/state.h"

hid_t state_type(assay_dtype dtype) {
    switch (dtype) {
    case ASSAY_F64:
        return H5T_IEEE_F64LE;
    case ASSAY_I32:
        return H5T_STD_I32LE;
    case ASSAY_F32:
    case ASSAY_BF16:
    case ASSAY_F16:
        break;
    }
    return H5T_IEEE_F32LE;
}

const char *state_type_name(assay_dtype dtype) {
    switch (dtype) {
    case ASSAY_F64:
        return "fp64";
    case ASSAY_I32:
        return "int32";
    case ASSAY_F32:
    case ASSAY_BF16:
    case ASSAY_F16:
        break;
    }
    return "fp32";
}
