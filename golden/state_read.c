/* Reading: the file comes from another program, so nothing in it is taken on trust. */
#include "golden/chunks.h"
#include "golden/file.h"
#include "golden/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 256 };

/* A tensor of the problem and its place in the file. */
typedef struct slot {
    const golden_file *file;
    const char *group; /* "in" */
    const assay_tensor_spec *spec;
    double *data;
    int64_t size;
} slot;

/* ASSAY_ERR_FILE: "path: /in/logits: what; remedy". */
static assay_status refuse(const slot *s, const char *format, ...) ASSAY_PRINTF(2, 3);
static assay_status refuse(const slot *s, const char *format, ...) {
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return assay_fail(ASSAY_ERR_FILE, "%s: /%s/%s: %s", s->file->path, s->group, s->spec->name,
                      what);
}

/* ---- the file ---- */

#define HOW_TO_WRITE "write it with h5py.File(path, \"w\", libver=\"v110\") or \"latest\""

/* The byte behind HDF5's signature: 3 in the format of 1.10, below that in older ones, which h5py
 * writes unless told otherwise. Those have no checksums, and damage to them can crash the library.
 */
static assay_status check_format(const char *path) {
    static const char signature[] = "\x89HDF\r\n\x1a\n";
    enum { LENGTH = sizeof signature - 1, FORMAT = 3 };
    char start[LENGTH + 1] = {0};
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s; `assay run` with --no-run makes such a file",
                          path, strerror(errno));
    const size_t length = fread(start, 1, sizeof start, from);
    fclose(from);
    if (length < sizeof start || memcmp(start, signature, LENGTH) != 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: not an HDF5 file; " HOW_TO_WRITE, path);
    if (start[LENGTH] != FORMAT)
        return assay_fail(
            ASSAY_ERR_FILE,
            "%s: HDF5 in an older format than that of 1.10, without checksums; " HOW_TO_WRITE,
            path);
    return ASSAY_OK;
}

static assay_status damaged(const golden_file *file) {
    return assay_fail(ASSAY_ERR_FILE, "%s: damaged, or cut short; make it anew", file->path);
}

static assay_status open_file(golden_file *file, const char *path) {
    const assay_status status = check_format(path);
    if (status != ASSAY_OK)
        return status;
    /* Nothing stays open, and where it found damage HDF5 1.10 complains at exit that something did.
     * This counts only before its first call in a process. */
    (void)H5dont_atexit();
    if (golden_file_open(file, path) == ASSAY_OK)
        return ASSAY_OK;
    file->path = path;
    return damaged(file);
}

/* A soft or external link leads to an unchecked place, or nowhere. */
static bool is_own(hid_t parent, const char *name) {
    H5L_info_t link;
    return H5Lget_info(parent, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD;
}

/* ---- one tensor ---- */

static const char *shape_text(int rank, const hsize_t *shape, char text[128]) {
    size_t used = (size_t)snprintf(text, 128, "(");
    for (int a = 0; a < rank && used < 100; ++a)
        used +=
            (size_t)snprintf(text + used, 128 - used, "%s%" PRIuHSIZE, a > 0 ? ", " : "", shape[a]);
    snprintf(text + used, 128 - used, ")");
    return text;
}

static assay_status check_shape(const slot *s, hid_t dataset) {
    hsize_t shape[H5S_MAX_RANK] = {0}, want[ASSAY_MAX_RANK] = {0};
    char stored[128], declared[128];
    const hid_t space = H5Dget_space(dataset);
    /* A null dataspace has rank 0 as well, but no element. */
    const H5S_class_t class = H5Sget_simple_extent_type(space);
    const bool some = class == H5S_SIMPLE || class == H5S_SCALAR;
    const int rank = some ? H5Sget_simple_extent_dims(space, shape, NULL) : -1;
    H5Sclose(space);
    if (rank < 0)
        return refuse(s, "its shape cannot be read; make the file anew");
    bool same = rank == s->spec->rank;
    for (int32_t a = 0; a < s->spec->rank; ++a) {
        want[a] = (hsize_t)s->spec->shape[a];
        same = same && shape[a] == want[a];
    }
    if (same)
        return ASSAY_OK;
    return refuse(s, "shape %s, and the case has %s; reshape it, or name another case",
                  shape_text(rank, shape, stored), shape_text(s->spec->rank, want, declared));
}

static assay_status check_type(const slot *s, hid_t dataset) {
    const char *name = state_type_name(s->spec->dtype);
    const hid_t type = H5Dget_type(dataset);
    const bool same = type >= 0 && H5Tequal(type, state_type(s->spec->dtype)) > 0;
    H5Tclose(type);
    return same ? ASSAY_OK : refuse(s, "not of type little-endian %s; convert it", name);
}

/* A dataset may lie in other files, which were not checked. */
static assay_status check_storage(const slot *s, hid_t dataset) {
    const hid_t list = H5Dget_create_plist(dataset);
    const bool here =
        list >= 0 && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
    H5Pclose(list);
    if (!here)
        return refuse(s, "its data lies in another file; copy it into this one");
    return golden_chunks_are_whole(dataset)
               ? ASSAY_OK
               : refuse(s,
                        "its compressed data cannot be verified to be as much as its shape says; "
                        "store it flat, or by gzip");
}

/* NULL where a kernel of that dtype may be given the value. */
static const char *fault_of(const assay_tensor_spec *spec, double v) {
    if (!isnan(v) && assay_dtype_round(spec->dtype, v) != v)
        return "is not a value of the case's dtype; round the data to it";
    if (spec->dtype == ASSAY_I32 && !(v >= 0 && v < (double)spec->indices))
        return "is no index here; indices are below the extent that they select from";
    if (spec->magnitudes && v < 0)
        return "is negative, which this tensor cannot be";
    return NULL;
}

static assay_status read_values(const slot *s, hid_t dataset) {
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, s->data) < 0)
        return refuse(s, "its data cannot be read; make the file anew");
    for (int64_t i = 0; i < s->size; ++i) {
        const char *fault = fault_of(s->spec, s->data[i]);
        if (fault != NULL)
            return refuse(s, "element %" PRId64 ", %.9g, %s", i, s->data[i], fault);
    }
    return ASSAY_OK;
}

static assay_status read_tensor(const slot *s, hid_t group) {
    const hid_t dataset = is_own(group, s->spec->name) ? H5Dopen2(group, s->spec->name, H5P_DEFAULT)
                                                       : H5I_INVALID_HID;
    if (dataset < 0)
        return refuse(s, "not a dataset that can be read; make the file anew");
    assay_status status = check_type(s, dataset);
    if (status == ASSAY_OK)
        status = check_shape(s, dataset);
    if (status == ASSAY_OK)
        status = check_storage(s, dataset);
    if (status == ASSAY_OK)
        status = read_values(s, dataset);
    H5Dclose(dataset);
    return status;
}

/* ---- a group ---- */

/* Object i of a group in the order of names, with nothing in it that a terminal would obey. */
static bool name_at(hid_t group, hsize_t i, char name[NAME]) {
    const ssize_t length =
        H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, NAME, H5P_DEFAULT);
    for (char *c = name; length >= 0 && *c != '\0'; ++c)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return length >= 0;
}

/* The tensors of one group: specs and arrays have the same order. */
typedef struct tensors {
    const char *group;  /* "in" */
    const char *called; /* what one of them is */
    const assay_tensor_spec *specs;
    assay_arrays *arrays; /* absent where there is no such tensor */
} tensors;

static assay_status read_named(const golden_file *file, hid_t group, const tensors *t,
                               const char *name) {
    for (int32_t i = 0; i < t->arrays->count; ++i)
        if (t->arrays->data[i] != NULL && strcmp(t->specs[i].name, name) == 0) {
            const slot s = {file, t->group, &t->specs[i], t->arrays->data[i], t->arrays->size[i]};
            return read_tensor(&s, group);
        }
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: /%s/%.100s: this case has no %s of that name; --no-run writes a file "
                      "with all of them",
                      file->path, t->group, name, t->called);
}

static assay_status read_group(const golden_file *file, const tensors *t, int32_t *taken) {
    H5G_info_t info = {0};
    const hid_t group =
        is_own(file->id, t->group) ? H5Gopen2(file->id, t->group, H5P_DEFAULT) : H5I_INVALID_HID;
    assay_status status = ASSAY_OK;
    if (group < 0 || H5Gget_info(group, &info) < 0)
        status =
            assay_fail(ASSAY_ERR_FILE, "%s: /%s: not a group that can be read; make the file anew",
                       file->path, t->group);
    for (hsize_t i = 0; status == ASSAY_OK && i < info.nlinks; ++i) {
        char name[NAME];
        status = name_at(group, i, name) ? read_named(file, group, t, name) : damaged(file);
        *taken += status == ASSAY_OK;
    }
    if (group >= 0)
        H5Gclose(group);
    return status;
}

/* ---- the root ---- */

static assay_status read_object(const golden_file *file, const char *name, assay_problem *p,
                                int32_t *taken) {
    const tensors in = {"in", "input", p->sig.in, &p->in};
    const tensors cot = {"cot", "output with a cotangent", p->sig.out, &p->cot};
    if (strcmp(name, in.group) == 0)
        return read_group(file, &in, taken);
    if (strcmp(name, cot.group) == 0)
        return read_group(file, &cot, taken);
    if (strcmp(name, "out") == 0 || strcmp(name, "grad") == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: /%.100s: unknown; inputs belong in /in, cotangents in /cot", file->path,
                      name);
}

static assay_status read_root(const golden_file *file, assay_problem *p, int32_t *taken) {
    H5G_info_t info;
    if (H5Gget_info(file->id, &info) < 0)
        return damaged(file);
    assay_status status = ASSAY_OK;
    for (hsize_t i = 0; status == ASSAY_OK && i < info.nlinks; ++i) {
        char name[NAME];
        status = name_at(file->id, i, name) ? read_object(file, name, p, taken) : damaged(file);
    }
    if (status == ASSAY_OK && *taken == 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: no tensor in /in or /cot; --no-run writes a file with all of them",
                          file->path);
    return status;
}

assay_status assay_state_read(const char *path, assay_problem *p, int32_t *taken) {
    golden_file file;
    *taken = 0;
    assay_status status = open_file(&file, path);
    if (status != ASSAY_OK)
        return status;
    status = read_root(&file, p, taken);
    golden_file_close(&file);
    return status;
}
