#include "golden/attribute.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static bool is_scalar(hid_t attribute) {
    const hid_t space = H5Aget_space(attribute);
    const bool scalar = space >= 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR;
    H5Sclose(space);
    return scalar;
}

static assay_status open_attribute(const golden_file *file, hid_t object, const char *place,
                                   const char *name, hid_t *attribute) {
    *attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (*attribute < 0)
        return golden_damaged(file, place, "attribute %s is missing or unreadable", name);
    if (is_scalar(*attribute))
        return ASSAY_OK;
    H5Aclose(*attribute);
    return golden_damaged(file, place, "attribute %s is not a scalar", name);
}

static assay_status get_number(const golden_file *file, hid_t object, const char *place,
                               const char *name, hid_t stored, hid_t native, void *value) {
    hid_t attribute;
    assay_status status = open_attribute(file, object, place, name, &attribute);
    if (status != ASSAY_OK)
        return status;
    const hid_t type = H5Aget_type(attribute);
    if (!(type >= 0 && H5Tequal(type, stored) > 0))
        status = golden_damaged(file, place, "attribute %s has the wrong type", name);
    else if (H5Aread(attribute, native, value) < 0)
        status = golden_damaged(file, place, "attribute %s cannot be read", name);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

assay_status golden_get_int(const golden_file *file, hid_t object, const char *place,
                            const char *name, int32_t *value) {
    return get_number(file, object, place, name, H5T_STD_I32LE, H5T_NATIVE_INT32, value);
}

assay_status golden_get_seed(const golden_file *file, hid_t object, const char *place,
                             uint64_t *value) {
    return get_number(file, object, place, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, value);
}

/* A fixed-length string: variable ones live in heaps without checksums. */
static bool is_text(hid_t type, size_t size) {
    if (!(type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0))
        return false;
    const size_t stored = H5Tget_size(type); /* 0: HDF5 cannot tell */
    return stored > 0 && stored < size;
}

assay_status golden_get_text(const golden_file *file, hid_t object, const char *place,
                             const char *name, char *text, size_t size) {
    hid_t attribute;
    assay_status status = open_attribute(file, object, place, name, &attribute);
    if (status != ASSAY_OK)
        return status;
    const hid_t type = H5Aget_type(attribute);
    memset(text, 0, size);
    if (!is_text(type, size))
        status =
            golden_damaged(file, place, "attribute %s is no text of under %zu bytes", name, size);
    else if (H5Aread(attribute, type, text) < 0)
        status = golden_damaged(file, place, "attribute %s cannot be read", name);
    H5Tclose(type);
    H5Aclose(attribute);
    return status;
}

/* ---- writing ---- */

static assay_status unwritten(const golden_file *file, const char *name) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot write attribute %s; is the disk full?",
                      file->path, name);
}

static assay_status put(const golden_file *file, hid_t object, const char *name, hid_t stored,
                        hid_t native, const void *value) {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, native, value) >= 0;
    H5Aclose(attribute);
    H5Sclose(space);
    return ok ? ASSAY_OK : unwritten(file, name);
}

assay_status golden_put_int(const golden_file *file, hid_t object, const char *name,
                            int32_t value) {
    return put(file, object, name, H5T_STD_I32LE, H5T_NATIVE_INT32, &value);
}

assay_status golden_put_seed(const golden_file *file, hid_t object, uint64_t value) {
    return put(file, object, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

assay_status golden_put_text(const golden_file *file, hid_t object, const char *name,
                             const char *text) {
    const size_t length = strlen(text);
    const hid_t type = H5Tcopy(H5T_C_S1);
    const bool ready = H5Tset_size(type, length > 0 ? length : 1) >= 0 &&
                       H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0;
    const assay_status status =
        ready ? put(file, object, name, type, type, text) : unwritten(file, name);
    H5Tclose(type);
    return status;
}
