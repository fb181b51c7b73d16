/* Tensor maps. */
#include "sim/ptx/tensor_map.h"

#include "sim/exec/driver/driver.h"

#include <string.h>

typedef struct description {
    uint32_t type, rank;
    void *base;
    const uint64_t *size, *stride; /* stride: without the first */
    const uint32_t *box, *step;
    uint32_t interleave, swizzle, fill;
} description;

static exec_error refuse(const char *why) {
    exec_remark("%s: %s", exec_call_name(), why);
    return EXEC_INVALID_VALUE;
}

static exec_error encode(void *map, const description *d) {
    ptx_tensor t = {.base = d->base, .rank = d->rank, .type = d->type, .swizzle = d->swizzle};
    if (map == NULL || d->size == NULL || d->box == NULL || d->step == NULL ||
        (d->rank > 1 && d->stride == NULL) || d->rank > PTX_TENSOR_RANK)
        return EXEC_INVALID_VALUE;
    for (uint32_t i = 0; i < d->rank; ++i) {
        t.size[i] = d->size[i];
        t.stride[i] = i > 0 ? d->stride[i - 1] : 0;
        t.box[i] = d->box[i];
        if (d->step[i] != 1)
            return refuse("elements that are not neighbours are not simulated");
    }
    if (d->interleave != 0 || d->fill != 0)
        return refuse("interleaved layouts, and a fill with NaN, are not simulated");
    const char *wrong = ptx_tensor_encode(&t, map);
    return wrong == NULL ? EXEC_SUCCESS : refuse(wrong);
}

EXPORT exec_error cuTensorMapEncodeTiled(void *map, uint32_t type, uint32_t rank, void *base,
                                         const uint64_t *size, const uint64_t *stride,
                                         const uint32_t *box, const uint32_t *step,
                                         uint32_t interleave, uint32_t swizzle, uint32_t promotion,
                                         uint32_t fill) {
    (void)promotion;
    const description d = {type, rank, base, size, stride, box, step, interleave, swizzle, fill};
    DRIVER_CALL(encode(map, &d));
}

/* A map with another address. */
static exec_error move(void *map, void *base) {
    ptx_tensor t;
    if (map == NULL || !ptx_tensor_decode(map, &t))
        return EXEC_INVALID_VALUE;
    t.base = base;
    const char *wrong = ptx_tensor_encode(&t, map);
    return wrong == NULL ? EXEC_SUCCESS : refuse(wrong);
}

EXPORT exec_error cuTensorMapReplaceAddress(void *map, void *base) {
    DRIVER_CALL(move(map, base));
}
