#include "device/dnn.h"

#if ASSAY_DNN

/* 3000 to 3999 are the reasons for which cuDNN cannot do a call. */
static bool is_unsupported(cudnnStatus_t status) {
    return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED;
}

assay_status assay_dnn_check(cudnnStatus_t status, const char *call) {
    if (status == CUDNN_STATUS_SUCCESS)
        return ASSAY_OK;
    char detail[256] = "";
    cudnnGetLastErrorString(detail, sizeof detail);
    for (char *c = detail; *c; ++c)
        if (*c == '\n')
            *c = ' ';
    return assay_fail(is_unsupported(status) ? ASSAY_ERR_UNSUPPORTED : ASSAY_ERR_DEVICE,
                      "cuda: %s: %s%s%s", call, cudnnGetErrorString(status), *detail ? ": " : "",
                      detail);
}

assay_status assay_dnn_bind(cudnnHandle_t *handle, void *stream) {
    assay_status status = ASSAY_OK;
    if (!*handle)
        status = assay_dnn_check(cudnnCreate(handle), "cudnnCreate");
    if (status == ASSAY_OK)
        status = assay_dnn_check(cudnnSetStream(*handle, static_cast<cudaStream_t>(stream)),
                                 "cudnnSetStream");
    return status;
}

assay_status assay_dnn_handle(void *stream, cudnnHandle_t *handle) {
    static thread_local cudnnHandle_t made;
    const assay_status status = assay_dnn_bind(&made, stream);
    if (status == ASSAY_OK)
        *handle = made;
    return status;
}

#endif
