#include "golden/attribute.h"
#include "golden/digest.h"
#include "golden/store.h"

#include <stdbool.h>
#include <string.h>

enum { DEFLATE = 9 };

static assay_status unwritten(const golden_file *file, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot write %s; is the disk full?", file->path, what);
}

static assay_status create_group(const golden_file *file, hid_t parent, const char *name,
                                 hid_t *group) {
    const hid_t creation = golden_untimed(H5P_GROUP_CREATE);
    *group = H5Gcreate2(parent, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return *group >= 0 ? ASSAY_OK : unwritten(file, name);
}

/* ---- tensors ---- */

/* One compressed chunk. HDF5 has no chunks of scalars and of nothing: those lie flat. */
static bool compress(hid_t creation, const assay_tensor_spec *spec, const hsize_t *shape) {
    if (spec->rank == 0 || assay_spec_count(spec) == 0)
        return true;
    return H5Pset_chunk(creation, spec->rank, shape) >= 0 && H5Pset_shuffle(creation) >= 0 &&
           H5Pset_deflate(creation, DEFLATE) >= 0;
}

static hid_t create_dataset(hid_t group, const golden_entry *e) {
    hsize_t shape[ASSAY_MAX_RANK] = {0};
    hid_t dataset = H5I_INVALID_HID;
    for (int32_t a = 0; a < e->spec->rank; ++a)
        shape[a] = (hsize_t)e->spec->shape[a];
    const hid_t creation = golden_untimed(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(e->spec->rank, shape, NULL);
    if (compress(creation, e->spec, shape))
        dataset =
            H5Dcreate2(group, e->name, H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(creation);
    return dataset;
}

static assay_status save_entry(const golden_file *file, hid_t group, golden_entry *e) {
    const hid_t dataset = create_dataset(group, e);
    if (dataset < 0)
        return unwritten(file, e->name);
    golden_digest_tensor(e->spec, *e->data, e->sha256);
    assay_status status = golden_put_text(file, dataset, "sha256", e->sha256);
    if (status == ASSAY_OK &&
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *e->data) < 0)
        status = unwritten(file, e->name);
    if (H5Dclose(dataset) < 0 && status == ASSAY_OK)
        status = unwritten(file, e->name);
    return status;
}

/* ---- groups ---- */

static bool has_any(const golden_record *r, golden_group group) {
    for (int32_t i = 0; i < r->n_entries; ++i)
        if (r->entry[i].group == group && *r->entry[i].data != NULL)
            return true;
    return false;
}

static assay_status save_group(const golden_file *file, hid_t parent, golden_group group,
                               golden_record *r) {
    hid_t id;
    if (group == GOLDEN_BOUND && !has_any(r, group))
        return ASSAY_OK;
    assay_status status = create_group(file, parent, golden_group_name(group), &id);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_entries; ++i)
        if (r->entry[i].group == group && *r->entry[i].data != NULL)
            status = save_entry(file, id, &r->entry[i]);
    H5Gclose(id);
    return status;
}

static assay_status save_attributes(const golden_file *file, hid_t group, golden_record *r) {
    const assay_golden *g = &r->golden;
    golden_digest_case(r, r->seal);
    assay_status status = golden_put_int(file, group, "schema", GOLDEN_SCHEMA);
    if (status == ASSAY_OK)
        status = golden_put_text(file, group, "case", r->text);
    if (status == ASSAY_OK)
        status = golden_put_seed(file, group, g->problem.c.seed);
    if (status == ASSAY_OK)
        status = golden_put_text(file, group, "source", g->source);
    if (status == ASSAY_OK)
        status = golden_put_int(file, group, "foreign", g->foreign);
    if (status == ASSAY_OK)
        status = golden_put_text(file, group, "library", r->library);
    if (status == ASSAY_OK)
        status = golden_put_text(file, group, "version", r->version);
    if (status == ASSAY_OK)
        status = golden_put_text(file, group, "sha256", r->seal);
    return status;
}

assay_status golden_save(const golden_file *file, golden_record *record) {
    hid_t group;
    assay_status status = create_group(file, file->id, record->text, &group);
    if (status != ASSAY_OK)
        return status;
    for (int g = 0; status == ASSAY_OK && g < GOLDEN_GROUPS; ++g)
        status = save_group(file, group, (golden_group)g, record);
    if (status == ASSAY_OK)
        status = save_attributes(file, group, record);
    H5Gclose(group);
    return status;
}
