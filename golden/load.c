#include "golden/attribute.h"
#include "golden/chunks.h"
#include "golden/digest.h"
#include "golden/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

assay_status golden_open_group(const golden_file *file, hid_t parent, const char *name,
                               const char *place, hid_t *group) {
    *group = H5Gopen2(parent, name, H5P_DEFAULT);
    return *group >= 0 ? ASSAY_OK : golden_damaged(file, place, "not a group that can be read");
}

/* ---- attributes ---- */

static assay_status load_attributes(const golden_file *file, hid_t group, golden_record *r) {
    char text[ASSAY_CASE_TEXT];
    int32_t schema = 0, foreign = 0;
    uint64_t seed = 0;
    assay_status status = golden_get_int(file, group, r->text, "schema", &schema);
    if (status == ASSAY_OK && schema != GOLDEN_SCHEMA)
        status = golden_damaged(file, r->text, "schema %d, and this assay reads %d", schema,
                                GOLDEN_SCHEMA);
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, r->text, "case", text, sizeof text);
    if (status == ASSAY_OK && strcmp(text, r->text) != 0)
        status = golden_damaged(file, r->text, "attribute case says otherwise: '%.100s'", text);
    if (status == ASSAY_OK)
        status = golden_get_seed(file, group, r->text, &seed);
    if (status == ASSAY_OK && seed != r->golden.problem.c.seed)
        status = golden_damaged(file, r->text, "attribute seed says otherwise: %" PRIu64, seed);
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, r->text, "source", r->golden.source,
                                 sizeof r->golden.source);
    if (status == ASSAY_OK)
        status = golden_get_int(file, group, r->text, "foreign", &foreign);
    if (status == ASSAY_OK && foreign != 0 && foreign != 1)
        status = golden_damaged(file, r->text, "attribute foreign is %d, not 0 or 1", foreign);
    r->golden.foreign = foreign == 1;
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, r->text, "library", r->library, sizeof r->library);
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, r->text, "version", r->version, sizeof r->version);
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, r->text, "sha256", r->seal, sizeof r->seal);
    return status;
}

/* ---- one tensor ---- */

/* "2x3" */
static const char *shape_text(int rank, const hsize_t *shape, char text[128]) {
    size_t used = (size_t)snprintf(text, 128, "(");
    for (int a = 0; a < rank && used < 100; ++a)
        used +=
            (size_t)snprintf(text + used, 128 - used, "%s%" PRIuHSIZE, a > 0 ? ", " : "", shape[a]);
    snprintf(text + used, 128 - used, ")");
    return text;
}

static assay_status check_shape(const golden_file *file, const char *place, hid_t dataset,
                                const assay_tensor_spec *spec) {
    hsize_t shape[H5S_MAX_RANK] = {0}, want[ASSAY_MAX_RANK] = {0};
    char stored[128], declared[128];
    const hid_t space = H5Dget_space(dataset);
    /* A null dataspace has rank 0 as well, but no element. */
    const H5S_class_t class = H5Sget_simple_extent_type(space);
    const bool some = class == H5S_SIMPLE || class == H5S_SCALAR;
    const int rank = some ? H5Sget_simple_extent_dims(space, shape, NULL) : -1;
    H5Sclose(space);
    if (rank < 0)
        return golden_damaged(file, place, "its shape cannot be read");
    bool same = rank == spec->rank;
    for (int32_t a = 0; a < spec->rank; ++a) {
        want[a] = (hsize_t)spec->shape[a];
        same = same && shape[a] == want[a];
    }
    if (same)
        return ASSAY_OK;
    return golden_damaged(file, place, "shape %s, and the case says %s",
                          shape_text(rank, shape, stored), shape_text(spec->rank, want, declared));
}

static assay_status check_type(const golden_file *file, const char *place, hid_t dataset) {
    const hid_t type = H5Dget_type(dataset);
    const bool f64 = type >= 0 && H5Tequal(type, H5T_IEEE_F64LE) > 0;
    H5Tclose(type);
    return f64 ? ASSAY_OK : golden_damaged(file, place, "not of type little-endian fp64");
}

/* Inputs must be what a kernel of the case's dtype can be given; a bound must be a bound. */
static assay_status check_values(const golden_file *file, const char *place,
                                 const golden_entry *e) {
    for (int64_t i = 0; i < *e->size; ++i) {
        const double v = (*e->data)[i];
        if (e->group == GOLDEN_IN && !isnan(v) && assay_dtype_round(e->spec->dtype, v) != v)
            return golden_damaged(file, place, "element %" PRId64 ", %.17g, is no value of %s", i,
                                  v, assay_dtype_name(e->spec->dtype));
        if (e->group == GOLDEN_BOUND && !(v >= 0))
            return golden_damaged(file, place, "element %" PRId64 ", %.17g, is no bound", i, v);
    }
    return ASSAY_OK;
}

static assay_status load_values(const golden_file *file, const char *place, hid_t dataset,
                                golden_entry *e) {
    char stored[GOLDEN_SHA256];
    assay_status status = golden_get_text(file, dataset, place, "sha256", stored, sizeof stored);
    if (status == ASSAY_OK)
        status = golden_entry_add(e);
    if (status != ASSAY_OK)
        return status;
    if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *e->data) < 0)
        return golden_damaged(file, place, "its data cannot be read");
    golden_digest_tensor(e->spec, *e->data, e->sha256);
    if (strcmp(stored, e->sha256) != 0)
        return golden_damaged(file, place, "its data does not have its SHA-256");
    return check_values(file, place, e);
}

static assay_status load_entry(const golden_file *file, const char *place, hid_t group,
                               golden_entry *e) {
    const hid_t dataset = H5Dopen2(group, e->name, H5P_DEFAULT);
    if (dataset < 0)
        return golden_damaged(file, place, "not a dataset that can be read");
    assay_status status = check_type(file, place, dataset);
    if (status == ASSAY_OK)
        status = check_shape(file, place, dataset, e->spec);
    if (status == ASSAY_OK && !golden_chunks_are_whole(dataset))
        status = golden_damaged(
            file, place, "its compressed data cannot be verified to be as much as its shape says");
    if (status == ASSAY_OK)
        status = load_values(file, place, dataset, e);
    H5Dclose(dataset);
    return status;
}

/* ---- a group of tensors ---- */

/* Whether `parent` has something of that name; an error when that cannot be told. */
static assay_status has(const golden_file *file, hid_t parent, const char *place, const char *name,
                        bool *found) {
    const htri_t exists = H5Lexists(parent, name, H5P_DEFAULT);
    *found = exists > 0;
    return exists >= 0 ? ASSAY_OK : golden_damaged(file, place, "cannot be searched for %s", name);
}

static assay_status check_count(const golden_file *file, hid_t group, const char *place,
                                hsize_t want) {
    H5G_info_t info;
    if (H5Gget_info(group, &info) < 0)
        return golden_damaged(file, place, "its contents cannot be listed");
    if (info.nlinks != want)
        return golden_damaged(file, place,
                              "holds %" PRIuHSIZE " objects, %" PRIuHSIZE " of which belong there",
                              info.nlinks, want);
    return ASSAY_OK;
}

static assay_status load_entries(const golden_file *file, hid_t id, const char *place,
                                 golden_group group, golden_record *r) {
    hsize_t found = 0;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_entries; ++i) {
        golden_entry *e = &r->entry[i];
        if (e->group != group)
            continue;
        char name[GOLDEN_PLACE + 2 * ASSAY_TENSOR_NAME];
        bool there;
        snprintf(name, sizeof name, "%s/%s", place, e->name);
        status = has(file, id, place, e->name, &there);
        if (status == ASSAY_OK && there)
            status = load_entry(file, name, id, e);
        else if (status == ASSAY_OK && group == GOLDEN_IN)
            status = golden_damaged(file, name, "missing");
        found += there;
    }
    return status == ASSAY_OK ? check_count(file, id, place, found) : status;
}

static assay_status load_groups(const golden_file *file, hid_t id, golden_record *r) {
    hsize_t found = 0;
    assay_status status = ASSAY_OK;
    for (int g = 0; status == ASSAY_OK && g < GOLDEN_GROUPS; ++g) {
        const golden_group group = (golden_group)g;
        const char *name = golden_group_name(group);
        char place[GOLDEN_PLACE];
        bool there;
        snprintf(place, sizeof place, "%s/%s", r->text, name);
        status = has(file, id, r->text, name, &there);
        if (status == ASSAY_OK && !there) {
            if (group != GOLDEN_BOUND) /* which foreign goldens have not */
                status = golden_damaged(file, place, "missing");
            continue;
        }
        hid_t child = H5I_INVALID_HID;
        if (status == ASSAY_OK)
            status = golden_open_group(file, id, name, place, &child);
        if (status == ASSAY_OK)
            status = load_entries(file, child, place, group, r);
        H5Gclose(child);
        ++found;
    }
    return status == ASSAY_OK ? check_count(file, id, r->text, found) : status;
}

/* ---- a case ---- */

static assay_status check_seal(const golden_file *file, const golden_record *r) {
    char seal[GOLDEN_SHA256];
    golden_digest_case(r, seal);
    if (strcmp(seal, r->seal) == 0)
        return ASSAY_OK;
    return golden_damaged(file, r->text,
                          "its attributes and tensors do not have the SHA-256 of the whole");
}

static assay_status find_case(const golden_file *file, const golden_record *r) {
    bool found;
    const assay_status status = has(file, file->id, "/", r->text, &found);
    if (status != ASSAY_OK || found)
        return status;
    return assay_fail(ASSAY_ERR_FILE, "%s: %s: no such case; `assay golden list %s` lists them",
                      file->path, r->text, r->golden.problem.c.op->name);
}

assay_status golden_load(const golden_file *file, const assay_case *c, golden_record *record) {
    hid_t group = H5I_INVALID_HID;
    const assay_case stored = golden_stored_case(c);
    assay_status status = golden_record_init(record, &stored);
    if (status != ASSAY_OK)
        return status;
    status = find_case(file, record);
    if (status == ASSAY_OK)
        status = golden_open_group(file, file->id, record->text, record->text, &group);
    if (status == ASSAY_OK)
        status = load_attributes(file, group, record);
    if (status == ASSAY_OK)
        status = load_groups(file, group, record);
    if (status == ASSAY_OK)
        status = check_seal(file, record);
    H5Gclose(group);
    if (status != ASSAY_OK)
        golden_record_clear(record);
    return status;
}
