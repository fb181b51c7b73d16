#include "golden/attribute.h"
#include "golden/state.h"
#include "golden/writer.h"

#include <stdlib.h>
#include <string.h>

/* The groups "0001" and "0001/in" are made when something is put there; the last one stays open. */
typedef struct hdf5_state {
    golden_file file;
    char name[WRITER_NAME]; /* of the open group */
    hid_t group;            /* negative: none is open */
} hdf5_state;

static assay_status unwritten(const tensor_writer *w, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot write %s; is the disk full?", w->temporary.name,
                      what);
}

static assay_status begin(tensor_writer *w) {
    hdf5_state *h = calloc(1, sizeof *h);
    if (h == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", w->temporary.name);
    w->state = h;
    h->group = H5I_INVALID_HID;
    return golden_file_create(&h->file, w->temporary.path);
}

static bool close_group(hdf5_state *h) {
    const hid_t group = h->group;
    h->group = H5I_INVALID_HID;
    h->name[0] = '\0';
    return group < 0 || H5Gclose(group) >= 0;
}

static hid_t open_or_make(hid_t file, const char *name) {
    if (H5Lexists(file, name, H5P_DEFAULT) > 0)
        return H5Gopen2(file, name, H5P_DEFAULT);
    const hid_t creation = golden_untimed(H5P_GROUP_CREATE);
    const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return group;
}

/* Makes the group, and those that it lies in. */
static bool enter(hdf5_state *h, const char *name) {
    if (h->group >= 0 && strcmp(h->name, name) == 0)
        return true;
    for (size_t length = 0; length <= strlen(name); ++length) {
        length += strcspn(name + length, "/");
        if (!close_group(h))
            return false;
        snprintf(h->name, sizeof h->name, "%.*s", (int)length, name);
        h->group = open_or_make(h->file.id, h->name);
        if (h->group < 0)
            return false;
    }
    return true;
}

static assay_status put_text(tensor_writer *w, const char *group, const char *name,
                             const char *text) {
    hdf5_state *h = w->state;
    return enter(h, group) ? golden_put_text(&h->file, h->group, name, text) : unwritten(w, group);
}

/* HDF5 narrows piece by piece, and every value fits: no second array is needed. */
static assay_status put_tensor(tensor_writer *w, const tensor_item *item) {
    const assay_tensor_spec *spec = &item->spec;
    hdf5_state *h = w->state;
    hsize_t shape[ASSAY_MAX_RANK] = {0};
    hid_t dataset = H5I_INVALID_HID;
    if (!enter(h, item->group))
        return unwritten(w, item->group);
    for (int32_t a = 0; a < spec->rank; ++a)
        shape[a] = (hsize_t)spec->shape[a];
    const hid_t creation = golden_untimed(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(spec->rank, shape, NULL);
    if (H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0) /* all of it is written once */
        dataset = H5Dcreate2(h->group, spec->name, state_type(spec->dtype), space, H5P_DEFAULT,
                             creation, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(creation);
    if (dataset < 0)
        return unwritten(w, spec->name);
    const herr_t written =
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, item->data);
    const herr_t closed = H5Dclose(dataset);
    return written >= 0 && closed >= 0 ? ASSAY_OK : unwritten(w, spec->name);
}

static assay_status finish(tensor_writer *w) {
    hdf5_state *h = w->state;
    const bool closed = close_group(h);
    const assay_status status = golden_file_close(&h->file);
    return closed || status != ASSAY_OK ? status : unwritten(w, "all of it");
}

static void clear(tensor_writer *w) {
    hdf5_state *h = w->state;
    if (h == NULL)
        return;
    (void)close_group(h);
    (void)golden_file_close(&h->file);
    free(h);
    w->state = NULL;
}

const writer_format writer_hdf5 = {"", begin, put_text, put_tensor, finish, clear};
