#include "bench/profile/around.h"

#include <stddef.h>

static struct {
    const assay_variant *variant;
    profile_around around;
    void *context;
} wrapped;

static assay_status forward(const assay_call *call) {
    return wrapped.around(ASSAY_FORWARD, wrapped.variant->forward, call, wrapped.context);
}

static assay_status backward(const assay_call *call) {
    return wrapped.around(ASSAY_BACKWARD, wrapped.variant->backward, call, wrapped.context);
}

assay_variant profile_wrap(const assay_variant *variant, profile_around around, void *context) {
    wrapped.variant = variant;
    wrapped.around = around;
    wrapped.context = context;
    assay_variant outer = *variant;
    outer.forward = forward;
    outer.backward = variant->backward != NULL ? backward : NULL;
    return outer;
}
