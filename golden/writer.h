/*
 * A file of tensors and texts while it is written: state files (state.h), findings (findings.h).
 * Its name's end says the format: .npz, .safetensors, otherwise HDF5. It takes its place once it is
 * whole. The same tensors give the same bytes.
 */
#ifndef ASSAY_GOLDEN_WRITER_H
#define ASSAY_GOLDEN_WRITER_H

#include "assay/op.h"
#include "core/replace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WRITER_NAME = 256 };

typedef struct writer_format writer_format;

typedef struct tensor_writer {
    replacement temporary;
    const writer_format *format; /* NULL when nothing is being written */
    void *state;                 /* the format's own */
} tensor_writer;

/* ASSAY_ERR_FILE when nothing can be written there. `path` must outlive the writer. */
assay_status writer_begin(tensor_writer *w, const char *path) ASSAY_MUST_CHECK;

/* A text of the group "0001". HDF5: an attribute; .npz: a scalar of bytes, "0001/name";
 * safetensors: an entry of __metadata__, "0001/name". */
assay_status writer_put_text(tensor_writer *w, const char *group, const char *name,
                             const char *text) ASSAY_MUST_CHECK;

/* The tensors of `arrays` that are there, in a group such as "in" or "0001/in". Without tensors no
 * group is made. `wide`: in fp64, for every dtype. Tensors of a group follow each other. */
assay_status writer_put_arrays(tensor_writer *w, const char *group, const assay_tensor_spec *specs,
                               const assay_arrays *arrays, bool wide) ASSAY_MUST_CHECK;

assay_status writer_commit(tensor_writer *w) ASSAY_MUST_CHECK;

/* Leaves nothing of a file that was not committed. */
void writer_clear(tensor_writer *w);

/* ---- the formats ---- */

typedef struct tensor_item {
    const char *group;
    assay_tensor_spec spec;
    const double *data;
    int64_t count;
} tensor_item;

struct writer_format {
    const char *end; /* of a file's name; "": of any */
    assay_status (*begin)(tensor_writer *w);
    assay_status (*put_text)(tensor_writer *w, const char *group, const char *name,
                             const char *text);
    assay_status (*put_tensor)(tensor_writer *w, const tensor_item *item);
    assay_status (*finish)(tensor_writer *w); /* the file is whole after that */
    void (*clear)(tensor_writer *w);          /* frees the state, which may be NULL */
};
extern const writer_format writer_npz, writer_safetensors, writer_hdf5;

/* Hands a tensor's stored bytes to `put`, piece by piece; false as soon as that says so. */
typedef bool (*writer_put)(void *context, const void *bytes, size_t size);
bool writer_narrow(const tensor_item *item, writer_put put, void *context);

assay_status writer_full(const tensor_writer *w); /* ASSAY_ERR_FILE: it cannot be written */

#ifdef __cplusplus
}
#endif

#endif
