/* An .npz archive (npz.c): stored, with the earliest date that a zip archive has. */
#include "golden/npy.h"
#include "golden/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LOCAL = 30, VERSION = 20, STORED = 0, DAY_ONE = 0x21, MOST_MEMBERS = 65534 };

typedef struct npz_state {
    FILE *to, *directory;
    char *lines; /* of the directory */
    size_t size; /* of `lines` */
    uint64_t at;
    uint32_t crc;
    int members;
} npz_state;

static assay_status begin(tensor_writer *w) {
    npz_state *a = calloc(1, sizeof *a);
    if (a == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", w->temporary.name);
    w->state = a;
    a->to = fopen(w->temporary.path, "wb");
    if (a->to == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", w->temporary.name,
                          strerror(errno));
    a->directory = open_memstream(&a->lines, &a->size);
    return a->directory != NULL
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its directory", w->temporary.name);
}

static void put_number(FILE *to, uint64_t value, int count) {
    for (int i = 0; i < count; ++i, value >>= 8)
        putc((int)(value & 0xff), to);
}

static bool put(void *context, const void *bytes, size_t size) {
    npz_state *a = context;
    a->crc = (uint32_t)crc32_z(a->crc, bytes, size);
    return fwrite(bytes, 1, size, a->to) == size;
}

/* What a member's record and its line in the directory share. */
static void put_common(FILE *to, uint32_t crc, uint64_t size, size_t name) {
    put_number(to, VERSION, 2);
    put_number(to, 0, 2); /* flags */
    put_number(to, STORED, 2);
    put_number(to, 0, 2);
    put_number(to, DAY_ONE, 2);
    put_number(to, crc, 4);
    put_number(to, size, 4);
    put_number(to, size, 4);
    put_number(to, name, 2);
    put_number(to, 0, 2); /* extra */
}

/* The sum is known when the data are written: the record is written twice. */
static bool put_record(npz_state *a, const char *name, uint32_t crc, uint64_t size) {
    if (fseeko(a->to, (off_t)a->at, SEEK_SET) != 0)
        return false;
    fputs("PK\3\4", a->to);
    put_common(a->to, crc, size, strlen(name));
    return fputs(name, a->to) >= 0;
}

static void put_line(npz_state *a, const char *name, uint64_t size) {
    fputs("PK\1\2", a->directory);
    put_number(a->directory, VERSION, 2);
    put_common(a->directory, a->crc, size, strlen(name));
    put_number(a->directory, 0, 10); /* comment, disk, attributes */
    put_number(a->directory, a->at, 4);
    fputs(name, a->directory);
}

/* An array's text and its data: a tensor's, or, where `item` is NULL, those of `bytes`. */
static assay_status put_member(tensor_writer *w, const char *name, const char *header,
                               size_t before, const tensor_item *item, const char *bytes,
                               uint64_t length) {
    npz_state *a = w->state;
    const uint64_t size = before + length, next = a->at + LOCAL + strlen(name) + size;
    /* No offset of an archive may need more than 32 bits. */
    if (size >= UINT32_MAX || next >= UINT32_MAX || a->members == MOST_MEMBERS)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: more than 4 GiB of tensors, or too many, for .npz; name "
                          "a file .safetensors or .h5",
                          w->temporary.name);
    a->crc = (uint32_t)crc32_z(0, NULL, 0);
    if (!put_record(a, name, 0, size) || !put(a, header, before) ||
        !(item != NULL ? writer_narrow(item, put, a) : put(a, bytes, length)) ||
        !put_record(a, name, a->crc, size) || fseeko(a->to, (off_t)next, SEEK_SET) != 0)
        return writer_full(w);
    put_line(a, name, size);
    a->at = next;
    ++a->members;
    return ASSAY_OK;
}

static assay_status put_tensor(tensor_writer *w, const tensor_item *item) {
    const assay_tensor_spec *spec = &item->spec;
    char header[NPY_HEADER], name[WRITER_NAME];
    const size_t before = npy_format(npy_type(spec->dtype), spec->rank, spec->shape, header);
    snprintf(name, sizeof name, "%s/%s.npy", item->group, spec->name);
    return put_member(w, name, header, before, item, NULL,
                      (uint64_t)item->count * assay_dtype_size(spec->dtype));
}

/* NumPy's strings have at least one byte; zeros at their ends do not count. */
static assay_status put_text(tensor_writer *w, const char *group, const char *name,
                             const char *text) {
    char header[NPY_HEADER], type[NPY_TYPE], member[WRITER_NAME];
    const size_t length = text[0] != '\0' ? strlen(text) : 1;
    snprintf(type, sizeof type, "|S%zu", length);
    snprintf(member, sizeof member, "%s/%s.npy", group, name);
    return put_member(w, member, header, npy_format(type, 0, NULL, header), NULL, text, length);
}

static assay_status finish(tensor_writer *w) {
    npz_state *a = w->state;
    bool whole = !ferror(a->directory);
    whole = fclose(a->directory) == 0 && whole;
    a->directory = NULL;
    if (!whole || a->at + a->size > UINT32_MAX || fwrite(a->lines, 1, a->size, a->to) != a->size)
        return writer_full(w);
    fputs("PK\5\6", a->to);
    put_number(a->to, 0, 4); /* disks */
    put_number(a->to, (uint64_t)a->members, 2);
    put_number(a->to, (uint64_t)a->members, 2);
    put_number(a->to, a->size, 4);
    put_number(a->to, a->at, 4);
    put_number(a->to, 0, 2); /* comment */
    whole = !ferror(a->to);
    whole = fclose(a->to) == 0 && whole;
    a->to = NULL;
    return whole ? ASSAY_OK : writer_full(w);
}

static void clear(tensor_writer *w) {
    npz_state *a = w->state;
    if (a == NULL)
        return;
    if (a->directory != NULL)
        (void)fclose(a->directory);
    if (a->to != NULL)
        (void)fclose(a->to);
    free(a->lines);
    free(a);
    w->state = NULL;
}

const writer_format writer_npz = {".npz", begin, put_text, put_tensor, finish, clear};
