/* Reading HDF5: the file comes from another program, so nothing in it is taken on trust. */
#include "golden/chunks.h"
#include "golden/file.h"
#include "golden/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 256 };

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
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: neither .npz nor safetensors, and not an HDF5 file; " HOW_TO_WRITE,
                          path);
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

static assay_status check_shape(const state_slot *s, hid_t dataset) {
    hsize_t shape[H5S_MAX_RANK] = {0};
    int64_t stored[ASSAY_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(dataset);
    /* A null dataspace has rank 0 as well, but no element. */
    const H5S_class_t class = H5Sget_simple_extent_type(space);
    const bool some = class == H5S_SIMPLE || class == H5S_SCALAR;
    const int rank = some ? H5Sget_simple_extent_dims(space, shape, NULL) : -1;
    H5Sclose(space);
    if (rank < 0)
        return state_refuse(s, "its shape cannot be read; make the file anew");
    for (int a = 0; a < rank && a < ASSAY_MAX_RANK; ++a)
        stored[a] = (int64_t)shape[a]; /* HDF5 has none of 2^63 */
    return state_check_shape(s, rank, stored);
}

static assay_status check_type(const state_slot *s, hid_t dataset) {
    const char *name = state_type_name(s->spec->dtype);
    const hid_t type = H5Dget_type(dataset);
    const bool same = type >= 0 && H5Tequal(type, state_type(s->spec->dtype)) > 0;
    H5Tclose(type);
    return same ? ASSAY_OK : state_refuse(s, "not of type little-endian %s; convert it", name);
}

/* A dataset may lie in other files, which were not checked. */
static assay_status check_storage(const state_slot *s, hid_t dataset) {
    const hid_t list = H5Dget_create_plist(dataset);
    const bool here =
        list >= 0 && H5Pget_layout(list) != H5D_VIRTUAL && H5Pget_external_count(list) == 0;
    H5Pclose(list);
    if (!here)
        return state_refuse(s, "its data lies in another file; copy it into this one");
    return golden_chunks_are_whole(dataset)
               ? ASSAY_OK
               : state_refuse(
                     s, "its compressed data cannot be verified to be as much as its shape says; "
                        "store it flat, or by gzip");
}

static assay_status read_values(const state_slot *s, hid_t dataset) {
    const bool taken = s->use == STATE_TAKE;
    double *values = taken ? s->data : malloc((size_t)s->size * sizeof *values + 1);
    assay_status status = ASSAY_OK;
    if (values == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for /%s/%s", s->path, s->group,
                            s->spec->name);
    else if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = state_refuse(s, "its data cannot be read; make the file anew");
    if (status == ASSAY_OK)
        status = state_check_values(s, values);
    if (!taken)
        free(values);
    return status;
}

static assay_status read_tensor(const state_slot *s, hid_t group) {
    const hid_t dataset = is_own(group, s->spec->name) ? H5Dopen2(group, s->spec->name, H5P_DEFAULT)
                                                       : H5I_INVALID_HID;
    if (dataset < 0)
        return state_refuse(s, "not a dataset that can be read; make the file anew");
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

static assay_status read_group(const golden_file *file, hid_t root, const state_reading *r,
                               const state_group *t) {
    H5G_info_t info = {0};
    const hid_t group =
        is_own(root, t->name) ? H5Gopen2(root, t->name, H5P_DEFAULT) : H5I_INVALID_HID;
    assay_status status = ASSAY_OK;
    if (group < 0 || H5Gget_info(group, &info) < 0)
        status =
            assay_fail(ASSAY_ERR_FILE, "%s: /%s: not a group that can be read; make the file anew",
                       file->path, t->name);
    for (hsize_t i = 0; status == ASSAY_OK && i < info.nlinks; ++i) {
        char name[NAME];
        state_slot s;
        status = name_at(group, i, name) ? state_find_slot(r, t, name, &s) : damaged(file);
        if (status == ASSAY_OK)
            status = read_tensor(&s, group);
    }
    if (group >= 0)
        H5Gclose(group);
    return status;
}

static assay_status read_groups(const golden_file *file, hid_t root, const state_reading *r) {
    H5G_info_t info;
    if (H5Gget_info(root, &info) < 0)
        return damaged(file);
    assay_status status = ASSAY_OK;
    for (hsize_t i = 0; status == ASSAY_OK && i < info.nlinks; ++i) {
        char name[NAME], whole[NAME + STATE_PREFIX];
        const char *stripped = whole;
        const state_group *group = NULL;
        if (!name_at(root, i, name))
            return damaged(file);
        snprintf(whole, sizeof whole, "%s%s", r->prefix, name);
        if (state_strip_prefix(r, &stripped))
            status = state_find_group(r, stripped, &group);
        if (status == ASSAY_OK && group != NULL && group->use != STATE_IGNORE)
            status = read_group(file, root, r, group);
    }
    return status;
}

/* A finding's groups lie in the group with its number. */
static assay_status read_root(const golden_file *file, const state_reading *r) {
    char number[STATE_PREFIX];
    if (r->prefix[0] == '\0')
        return read_groups(file, file->id, r);
    snprintf(number, sizeof number, "%.*s", (int)strlen(r->prefix) - 1, r->prefix);
    const hid_t root =
        is_own(file->id, number) ? H5Gopen2(file->id, number, H5P_DEFAULT) : H5I_INVALID_HID;
    if (root < 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: has no finding %s", file->path, number);
    const assay_status status = read_groups(file, root, r);
    H5Gclose(root);
    return status;
}

assay_status state_read_hdf5(const state_reading *r) {
    golden_file file;
    assay_status status = open_file(&file, r->path);
    if (status != ASSAY_OK)
        return status;
    status = read_root(&file, r);
    golden_file_close(&file);
    return status;
}
