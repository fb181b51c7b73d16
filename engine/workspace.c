/* It may be far larger than the tensors, so no image of it is kept: the pattern goes up in pieces,
 * and only the guards come back. */
#include "engine/workspace.h"
#include "engine/pattern.h"

#include <stdlib.h>

enum { GUARD = 4096, PIECE = 1 << 22 };

static assay_status fill(const workspace *w) {
    const size_t all = GUARD + w->bytes + GUARD;
    const size_t piece = all < PIECE ? all : PIECE;
    unsigned char *image = malloc(piece);
    if (!image)
        return assay_fail(ASSAY_ERR_MEMORY, "workspace: no host memory for %zu bytes", piece);
    pattern_fill(image, 0, piece);
    assay_status status = ASSAY_OK;
    for (size_t at = 0; status == ASSAY_OK && at < all; at += piece)
        status = w->device->upload(w->memory + at, image, all - at < piece ? all - at : piece);
    free(image);
    return status;
}

static void guard(const workspace *w, bool on) {
    w->device->guard(w->memory, GUARD, on);
    w->device->guard(w->memory + GUARD + w->bytes, GUARD, on);
}

assay_status workspace_init(workspace *w, const assay_device *device, size_t bytes) {
    *w = (workspace){.device = device, .bytes = bytes};
    void *memory = NULL;
    assay_status status = device->alloc(GUARD + bytes + GUARD, &memory);
    if (status != ASSAY_OK)
        return status;
    w->memory = memory;
    w->data = w->memory + GUARD;
    status = fill(w);
    if (status == ASSAY_OK)
        guard(w, true);
    return status;
}

/* `at`: where in the memory this guard begins. */
static assay_status check_guard(const workspace *w, size_t at) {
    unsigned char taken[GUARD];
    const assay_status status = w->device->download(taken, w->memory + at, GUARD);
    if (status != ASSAY_OK)
        return status;
    const size_t wrong = pattern_breaks(taken, at, GUARD);
    if (wrong == GUARD)
        return ASSAY_OK;
    return assay_fail_as(
        ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
        "wrote outside workspace: byte %lld counted from its first; it ends at byte "
        "%zu",
        (long long)(at + wrong) - GUARD, w->bytes);
}

assay_status workspace_check(const workspace *w) {
    guard(w, false);
    assay_status status = check_guard(w, 0);
    if (status == ASSAY_OK)
        status = check_guard(w, GUARD + w->bytes);
    guard(w, true);
    return status;
}

void workspace_clear(workspace *w) {
    if (w->memory) {
        guard(w, false);
        w->device->release(w->memory);
    }
    *w = (workspace){0};
}
