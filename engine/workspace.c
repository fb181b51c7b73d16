/* It may be far larger than the tensors, so no image of it is kept: the pattern goes up in pieces,
 * and only the guards come back. */
#include "engine/workspace.h"
#include "engine/pattern.h"

#include <stdlib.h>

enum { PIECE = 1 << 22 };

static assay_status fill(const workspace *w) {
    const size_t all = WORKSPACE_GUARD + w->bytes + WORKSPACE_GUARD;
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
    w->device->guard(w->memory, WORKSPACE_GUARD, on);
    w->device->guard(w->memory + WORKSPACE_GUARD + w->bytes, WORKSPACE_GUARD, on);
}

assay_status workspace_init(workspace *w, const assay_device *device, size_t bytes) {
    *w = (workspace){.device = device, .bytes = bytes};
    void *memory = NULL;
    assay_status status = device->alloc(WORKSPACE_GUARD + bytes + WORKSPACE_GUARD, &memory);
    if (status != ASSAY_OK)
        return status;
    w->memory = memory;
    w->data = w->memory + WORKSPACE_GUARD;
    status = fill(w);
    if (status == ASSAY_OK)
        guard(w, true);
    return status;
}

/* Where in the memory a guard begins. */
static size_t guard_place(const workspace *w, int i) {
    return i == 0 ? 0 : WORKSPACE_GUARD + w->bytes;
}

void workspace_ask_back(workspace *w, downloads *list) {
    guard(w, false);
    for (int i = 0; i < WORKSPACE_DOWNLOADS; ++i)
        downloads_add(list, w->guards[i], w->memory + guard_place(w, i), WORKSPACE_GUARD);
}

static assay_status check_guard(const workspace *w, int i) {
    const size_t at = guard_place(w, i), wrong = pattern_breaks(w->guards[i], at, WORKSPACE_GUARD);
    if (wrong == WORKSPACE_GUARD)
        return ASSAY_OK;
    return assay_fail_as(
        ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
        "wrote outside workspace: byte %lld counted from its first; it ends at byte "
        "%zu",
        (long long)(at + wrong) - WORKSPACE_GUARD, w->bytes);
}

assay_status workspace_check(const workspace *w) {
    assay_status status = check_guard(w, 0);
    if (status == ASSAY_OK)
        status = check_guard(w, 1);
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
