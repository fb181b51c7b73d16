#include "golden/attribute.h"
#include "golden/store.h"

#include <string.h>

/* Object i of the file in the order of names. */
static assay_status name_at(const golden_file *file, hsize_t i, char name[ASSAY_CASE_TEXT]) {
    const ssize_t length = H5Lget_name_by_idx(file->id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                                              ASSAY_CASE_TEXT, H5P_DEFAULT);
    if (length < 0 || length >= ASSAY_CASE_TEXT)
        return golden_damaged(file, "/", "the name of case %llu cannot be read",
                              (unsigned long long)i);
    return ASSAY_OK;
}

/* A name must be a case in canonical text, and its attribute must say the same. */
static assay_status check_name(const golden_file *file, hid_t group, const char *name) {
    char text[ASSAY_CASE_TEXT], again[ASSAY_CASE_TEXT];
    assay_case c;
    assay_status status = golden_get_text(file, group, name, "case", text, sizeof text);
    if (status != ASSAY_OK)
        return status;
    if (strcmp(text, name) != 0)
        return golden_damaged(file, name, "attribute case says otherwise: '%.100s'", text);
    if (assay_case_parse(text, &c) != ASSAY_OK)
        return golden_damaged(file, name, "not a legal case (%.120s)", assay_error());
    if (strcmp(assay_case_format(&c, again), name) != 0)
        return golden_damaged(file, name, "not in canonical form, which is '%.100s'", again);
    return ASSAY_OK;
}

static assay_status visit_case(const golden_file *file, hid_t group, const char *name,
                               assay_golden_visitor visit, void *context) {
    char source[ASSAY_GOLDEN_SOURCE];
    int32_t foreign;
    assay_status status = check_name(file, group, name);
    if (status == ASSAY_OK)
        status = golden_get_text(file, group, name, "source", source, sizeof source);
    if (status == ASSAY_OK)
        status = golden_get_int(file, group, name, "foreign", &foreign);
    return status == ASSAY_OK ? visit(name, source, foreign != 0, context) : status;
}

assay_status golden_visit(const golden_file *file, assay_golden_visitor visit, void *context) {
    H5G_info_t info;
    if (H5Gget_info(file->id, &info) < 0)
        return golden_damaged(file, "/", "its contents cannot be listed");
    assay_status status = ASSAY_OK;
    for (hsize_t i = 0; status == ASSAY_OK && i < info.nlinks; ++i) {
        char name[ASSAY_CASE_TEXT];
        hid_t group = H5I_INVALID_HID;
        status = name_at(file, i, name);
        if (status == ASSAY_OK)
            status = golden_open_group(file, file->id, name, name, &group);
        if (status == ASSAY_OK)
            status = visit_case(file, group, name, visit, context);
        H5Gclose(group);
    }
    return status;
}
