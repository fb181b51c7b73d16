#include "bench/arms/disturb.h"

static assay_status swap(const set_tensor *t, const arm_timer *timer) {
    const size_t element = assay_dtype_size(t->tensor.dtype);
    unsigned char *data = t->tensor.data;
    return timer->swap(data + (size_t)t->swapped[0] * element,
                       data + (size_t)t->swapped[1] * element, element);
}

static assay_status undo(set_tensor *t, const arm_timer *timer) {
    const assay_status status = t->swapped[0] == t->swapped[1] ? ASSAY_OK : swap(t, timer);
    t->swapped[0] = t->swapped[1] = 0;
    return status;
}

/* A tensor of one element stays as it is. */
static assay_status redo(set_tensor *t, const arm_timer *timer, assay_rng *rng) {
    const int64_t count = assay_tensor_count(&t->tensor);
    const assay_status status = undo(t, timer);
    if (status != ASSAY_OK || count < 2)
        return status;
    t->swapped[0] = assay_rng_between(rng, 0, count - 1);
    t->swapped[1] = (t->swapped[0] + assay_rng_between(rng, 1, count - 1)) % count;
    return swap(t, timer);
}

assay_status disturb(set *s, const arm_timer *timer, assay_rng *rng, set_groups groups) {
    set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;)
        status = redo(t, timer, rng);
    return status;
}

assay_status disturb_undo(set *s, const arm_timer *timer, set_groups groups) {
    set_tensor *t;
    assay_status status = ASSAY_OK;
    for (set_walk w = {0}; status == ASSAY_OK && (t = set_next(s, groups, &w)) != NULL;)
        status = undo(t, timer);
    return status;
}
