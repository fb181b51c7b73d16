/*
 * A tensor map: TMA's description of a tensor. CUDA keeps its 128 bytes secret; these are the
 * simulator's own, made by the stand-in for cuTensorMapEncodeTiled and read by the copies (bulk.c).
 */
#ifndef ASSAY_SIM_PTX_TENSOR_MAP_H
#define ASSAY_SIM_PTX_TENSOR_MAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PTX_TENSOR_RANK = 5, PTX_TENSOR_MAP_BYTES = 128 };

/* As CUtensorMapDataType numbers them. */
typedef enum ptx_tensor_type {
    PTX_TENSOR_U8,
    PTX_TENSOR_U16,
    PTX_TENSOR_U32,
    PTX_TENSOR_S32,
    PTX_TENSOR_U64,
    PTX_TENSOR_S64,
    PTX_TENSOR_F16,
    PTX_TENSOR_F32,
    PTX_TENSOR_F64,
    PTX_TENSOR_BF16,
    PTX_TENSOR_F32_FTZ,
    PTX_TENSOR_TF32,
    PTX_TENSOR_TF32_FTZ,
    PTX_TENSOR_TYPES,
} ptx_tensor_type;

/* The first dimension is the one whose elements lie side by side. */
typedef struct ptx_tensor {
    char *base;
    uint64_t size[PTX_TENSOR_RANK];
    uint64_t stride[PTX_TENSOR_RANK]; /* bytes; the first is an element's */
    uint32_t box[PTX_TENSOR_RANK];    /* elements that a copy takes */
    uint32_t rank, bytes;             /* of an element */
    uint32_t type, swizzle;           /* 0: none; 1, 2, 3: 32, 64, 128 bytes */
} ptx_tensor;

/* The CUDA rule that it breaks, or NULL. `bytes` and the first stride follow from the type. */
const char *ptx_tensor_encode(const ptx_tensor *tensor, void *map);

/* false: these bytes are no map. */
int ptx_tensor_decode(const void *map, ptx_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
