/*
 * safetensors (github.com/huggingface/safetensors, "Format"): eight bytes, the length of a header;
 * the header, JSON: {"in/x": {"dtype": "F32", "shape": [3, 5], "data_offsets": [first, end]}, ...,
 * "__metadata__": {...}}; then the data, which the offsets count from.
 */
#include "golden/packed.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8 };
static const uint64_t most_header = 100000000; /* the format's own limit */

static const char *const type_names[] = {[ASSAY_F64] = "F64",
                                         [ASSAY_F32] = "F32",
                                         [ASSAY_BF16] = "BF16",
                                         [ASSAY_F16] = "F16",
                                         [ASSAY_I32] = "I32"};
enum { TYPES = sizeof type_names / sizeof *type_names };

const char *safetensors_type(assay_dtype dtype) {
    return type_names[dtype];
}

static assay_status damaged(const packed_file *file, const char *what) {
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: %s; it is no safetensors file that is whole: make it anew", file->path,
                      what);
}

/* A whole number that a double holds, at most 2^53. */
static bool read_count(const cJSON *item, int64_t *count) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= 0x1p53) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *count = (int64_t)item->valuedouble;
    return true;
}

static void read_type(const cJSON *entry, packed_tensor *t) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
    t->type = cJSON_IsString(type) ? type->valuestring : "no known type";
    for (int d = 0; d < TYPES; ++d)
        if (strcmp(type_names[d], t->type) == 0) {
            t->known = true;
            t->dtype = (assay_dtype)d;
        }
    /* A name that a terminal would obey is none of the format's. */
    for (const char *c = t->type; *c != '\0'; ++c)
        if (*c < '0' || *c > 'z')
            t->type = "no known type";
}

static bool read_shape(const cJSON *entry, packed_tensor *t) {
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape"), *axis;
    if (!cJSON_IsArray(shape))
        return false;
    cJSON_ArrayForEach(axis, shape) {
        int64_t extent;
        if (!read_count(axis, &extent))
            return false;
        if (t->rank < ASSAY_MAX_RANK)
            t->shape[t->rank] = extent;
        if (t->rank <= ASSAY_MAX_RANK)
            ++t->rank;
    }
    return true;
}

static bool read_place(const cJSON *entry, const unsigned char *data, size_t size,
                       packed_tensor *t) {
    const cJSON *place = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
    int64_t first, end;
    if (!cJSON_IsArray(place) || cJSON_GetArraySize(place) != 2 ||
        !read_count(cJSON_GetArrayItem(place, 0), &first) ||
        !read_count(cJSON_GetArrayItem(place, 1), &end) || first > end || (uint64_t)end > size)
        return false;
    t->data = data + first;
    t->bytes = (size_t)(end - first);
    return true;
}

static assay_status read_entry(const packed_file *file, const state_reading *r, const cJSON *entry,
                               size_t header) {
    char name[PACKED_NAME];
    packed_tensor t = {0};
    state_slot slot;
    packed_print_name((const unsigned char *)entry->string, strlen(entry->string), name);
    if (strcmp(name, "__metadata__") == 0)
        return ASSAY_OK;
    const assay_status status = packed_find(r, name, &slot);
    if (status != ASSAY_OK || slot.use == STATE_IGNORE)
        return status;
    read_type(entry, &t);
    if (!read_shape(entry, &t))
        return state_refuse(&slot, "its shape cannot be read; make the file anew");
    if (!read_place(entry, file->bytes + header, file->size - header, &t))
        return state_refuse(&slot, "its data lie outside the file; make the file anew");
    return packed_take(&slot, &t);
}

assay_status safetensors_read(const packed_file *file, const state_reading *r) {
    uint64_t length = 0;
    for (int i = 0; i < LENGTH; ++i)
        length |= (uint64_t)file->bytes[i] << 8 * i;
    if (length > most_header || length > file->size - LENGTH)
        return damaged(file, "its header is longer than the file");
    cJSON *header = cJSON_ParseWithLength((const char *)file->bytes + LENGTH, (size_t)length);
    if (!cJSON_IsObject(header)) {
        cJSON_Delete(header);
        return damaged(file, "its header is not JSON");
    }
    assay_status status = ASSAY_OK;
    for (const cJSON *entry = header->child; status == ASSAY_OK && entry; entry = entry->next)
        status = read_entry(file, r, entry, LENGTH + (size_t)length);
    cJSON_Delete(header);
    return status;
}
