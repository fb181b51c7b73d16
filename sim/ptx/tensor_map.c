#include "sim/ptx/tensor_map.h"

#include <string.h>

#define MAGIC UINT32_C(0x74656e73)

typedef struct packed {
    uint32_t magic;
    uint8_t rank, type, swizzle;
    uint16_t box[PTX_TENSOR_RANK];
    uint32_t last[PTX_TENSOR_RANK]; /* the greatest coordinate */
    uint64_t base, stride[PTX_TENSOR_RANK - 1];
} packed;
_Static_assert(sizeof(packed) <= PTX_TENSOR_MAP_BYTES, "a map has 128 bytes");

static const uint8_t bytes_of[PTX_TENSOR_TYPES] = {
    [PTX_TENSOR_U8] = 1,       [PTX_TENSOR_U16] = 2,     [PTX_TENSOR_U32] = 4,
    [PTX_TENSOR_S32] = 4,      [PTX_TENSOR_U64] = 8,     [PTX_TENSOR_S64] = 8,
    [PTX_TENSOR_F16] = 2,      [PTX_TENSOR_F32] = 4,     [PTX_TENSOR_F64] = 8,
    [PTX_TENSOR_BF16] = 2,     [PTX_TENSOR_F32_FTZ] = 4, [PTX_TENSOR_TF32] = 4,
    [PTX_TENSOR_TF32_FTZ] = 4,
};

static const char *check_dimension(const ptx_tensor *t, uint32_t i) {
    if (t->size[i] == 0 || t->size[i] > UINT64_C(1) << 32)
        return "a dimension is not 1 to 2^32";
    if (i > 0 && (t->stride[i] % 16 != 0 || t->stride[i] >= UINT64_C(1) << 40))
        return "a stride is no multiple of 16 bytes, or 2^40 or more";
    return t->box[i] == 0 || t->box[i] > 256 ? "a dimension of the box is not 1 to 256" : NULL;
}

static const char *check(const ptx_tensor *t) {
    const char *wrong = NULL;
    if (t->rank == 0 || t->rank > PTX_TENSOR_RANK)
        return "its rank is not 1 to 5";
    if (t->type >= PTX_TENSOR_TYPES || t->swizzle > 3)
        return "a data type or a swizzle that is not known";
    if (t->base == NULL || (uintptr_t)t->base % 16 != 0)
        return "its address is no multiple of 16";
    for (uint32_t i = 0; wrong == NULL && i < t->rank; ++i)
        wrong = check_dimension(t, i);
    const uint32_t row = t->box[0] * bytes_of[t->type];
    if (wrong == NULL && row % 16 != 0)
        wrong = "a row of the box is no multiple of 16 bytes";
    if (wrong == NULL && t->swizzle > 0 && row > 16u << t->swizzle)
        wrong = "a row of the box is longer than the swizzle";
    return wrong;
}

const char *ptx_tensor_encode(const ptx_tensor *t, void *map) {
    packed p = {.magic = MAGIC, .base = (uintptr_t)t->base};
    const char *wrong = check(t);
    if (wrong != NULL)
        return wrong;
    p.rank = (uint8_t)t->rank;
    p.type = (uint8_t)t->type;
    p.swizzle = (uint8_t)t->swizzle;
    for (uint32_t i = 0; i < t->rank; ++i) {
        p.last[i] = (uint32_t)(t->size[i] - 1);
        p.box[i] = (uint16_t)t->box[i];
        if (i > 0)
            p.stride[i - 1] = t->stride[i];
    }
    memset(map, 0, PTX_TENSOR_MAP_BYTES);
    memcpy(map, &p, sizeof p);
    return NULL;
}

int ptx_tensor_decode(const void *map, ptx_tensor *t) {
    packed p;
    memcpy(&p, map, sizeof p);
    *t = (ptx_tensor){
        .base = (char *)(uintptr_t)p.base, .rank = p.rank, .type = p.type, .swizzle = p.swizzle};
    if (p.magic != MAGIC || t->rank > PTX_TENSOR_RANK || t->type >= PTX_TENSOR_TYPES)
        return 0;
    t->bytes = bytes_of[t->type];
    for (uint32_t i = 0; i < t->rank; ++i) {
        t->size[i] = (uint64_t)p.last[i] + 1;
        t->box[i] = p.box[i];
        t->stride[i] = i > 0 ? p.stride[i - 1] : t->bytes;
    }
    return check(t) == NULL;
}
