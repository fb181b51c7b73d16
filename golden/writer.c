#include "golden/writer.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 4096 };

static bool ends_with(const char *path, const char *end) {
    const size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

assay_status writer_begin(tensor_writer *w, const char *path) {
    static const writer_format *const formats[] = {&writer_npz, &writer_safetensors, &writer_hdf5};
    int f = 0;
    *w = (tensor_writer){0};
    assay_status status = replacement_begin(&w->temporary, path);
    if (status != ASSAY_OK)
        return status;
    while (!ends_with(path, formats[f]->end))
        ++f;
    w->format = formats[f];
    status = w->format->begin(w);
    if (status != ASSAY_OK)
        writer_clear(w);
    return status;
}

assay_status writer_put_text(tensor_writer *w, const char *group, const char *name,
                             const char *text) {
    return w->format->put_text(w, group, name, text);
}

assay_status writer_put_arrays(tensor_writer *w, const char *group, const assay_tensor_spec *specs,
                               const assay_arrays *arrays, bool wide) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < arrays->count; ++i) {
        tensor_item item = {group, specs[i], arrays->data[i], arrays->size[i]};
        if (item.data == NULL)
            continue;
        if (wide)
            item.spec.dtype = ASSAY_F64;
        status = w->format->put_tensor(w, &item);
    }
    return status;
}

assay_status writer_commit(tensor_writer *w) {
    assay_status status = w->format->finish(w);
    if (status == ASSAY_OK)
        status = replacement_commit(&w->temporary);
    writer_clear(w);
    return status;
}

void writer_clear(tensor_writer *w) {
    if (w->format == NULL)
        return;
    w->format->clear(w);
    replacement_clear(&w->temporary);
    w->format = NULL;
}

bool writer_narrow(const tensor_item *item, writer_put put, void *context) {
    const size_t size = assay_dtype_size(item->spec.dtype);
    double narrow[PIECE];
    for (int64_t done = 0, n; done < item->count; done += n) {
        n = item->count - done < PIECE ? item->count - done : PIECE;
        assay_dtype_narrow(item->spec.dtype, item->data + done, narrow, n);
        if (!put(context, narrow, (size_t)n * size))
            return false;
    }
    return true;
}

assay_status writer_full(const tensor_writer *w) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot be written; is the disk full?",
                      w->temporary.name);
}
