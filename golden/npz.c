/*
 * NumPy's .npz: a zip archive (PKWARE's APPNOTE.TXT) with a member in/x.npy for each array, stored
 * or deflated. Only the central directory at its end counts: numpy.savez leaves the sizes before a
 * member's data open. The 64-bit forms of both are read, since archives may exceed 4 GiB.
 */
#include "golden/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL = 30, /* bytes of fixed size of each record */
    CENTRAL = 46,
    END = 22,
    END64 = 56,
    LOCATOR64 = 20,
    MOST_COMMENT = 65535,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,
    MOST_HEADER = 1 << 16, /* of a member's array */
};

typedef struct member {
    char name[PACKED_NAME]; /* without .npy */
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, size, at; /* bytes in the file, of the array, and where its record is */
} member;

static uint64_t number(const unsigned char *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static assay_status damaged(const packed_file *file) {
    return assay_fail(ASSAY_ERR_FILE, "%s: damaged, or cut short; make it anew with numpy.savez",
                      file->path);
}

static bool is_at(const packed_file *file, uint64_t at, size_t size, const char *mark) {
    return at <= file->size && size <= file->size - at && memcmp(file->bytes + at, mark, 4) == 0;
}

/* The last record that begins like the end of an archive. */
static bool find_end(const packed_file *file, uint64_t *at) {
    const uint64_t least = file->size > END + MOST_COMMENT ? file->size - END - MOST_COMMENT : 0;
    for (uint64_t i = file->size >= END ? file->size - END + 1 : 0; i-- > least;)
        if (is_at(file, i, END, "PK\5\6")) {
            *at = i;
            return true;
        }
    return false;
}

/* Where the central directory is, and how many members it names. */
static bool find_directory(const packed_file *file, uint64_t *at, uint64_t *members) {
    uint64_t end, end64;
    if (!find_end(file, &end))
        return false;
    *members = number(file->bytes + end + 10, 2);
    *at = number(file->bytes + end + 16, 4);
    if (*members != UINT16_MAX && *at != UINT32_MAX)
        return true;
    if (end < LOCATOR64 || !is_at(file, end - LOCATOR64, LOCATOR64, "PK\6\7"))
        return *at != UINT32_MAX;
    end64 = number(file->bytes + end - LOCATOR64 + 8, 8);
    if (!is_at(file, end64, END64, "PK\6\6"))
        return false;
    *members = number(file->bytes + end64 + 32, 8);
    *at = number(file->bytes + end64 + 48, 8);
    return true;
}

/* Fields that do not fit into 32 bits follow in an extra field, in this order. */
static bool read_wide(const unsigned char *extra, size_t length, member *m) {
    uint64_t *const wide[] = {&m->size, &m->packed, &m->at};
    while (length >= 4) {
        const size_t size = (size_t)number(extra + 2, 2);
        if (size > length - 4)
            return false;
        const unsigned char *field = extra + 4, *end = field + size;
        for (int i = 0; number(extra, 2) == 1 && i < 3; ++i) {
            if (*wide[i] != UINT32_MAX)
                continue;
            if (end - field < 8)
                return false;
            *wide[i] = number(field, 8);
            field += 8;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return true;
}

/* The member that the directory has at *at, which then is that of the next one. */
static bool read_member(const packed_file *file, uint64_t *at, member *m) {
    if (!is_at(file, *at, CENTRAL, "PK\1\2"))
        return false;
    const unsigned char *b = file->bytes + *at;
    const size_t name = (size_t)number(b + 28, 2), extra = (size_t)number(b + 30, 2);
    const size_t comment = (size_t)number(b + 32, 2);
    if (name + extra + comment > file->size - *at - CENTRAL)
        return false;
    *m = (member){.flags = (unsigned)number(b + 8, 2),
                  .method = (unsigned)number(b + 10, 2),
                  .crc = (uint32_t)number(b + 16, 4),
                  .packed = number(b + 20, 4),
                  .size = number(b + 24, 4),
                  .at = number(b + 42, 4)};
    packed_print_name(b + CENTRAL, name, m->name);
    *at += CENTRAL + name + extra + comment;
    return read_wide(b + CENTRAL + name, extra, m);
}

/* Its bytes in the file; NULL where they are not all there. */
static const unsigned char *find_data(const packed_file *file, const member *m) {
    if (!is_at(file, m->at, LOCAL, "PK\3\4"))
        return NULL;
    const unsigned char *b = file->bytes + m->at;
    const uint64_t start = m->at + LOCAL + number(b + 26, 2) + number(b + 28, 2);
    return start <= file->size && m->packed <= file->size - start ? file->bytes + start : NULL;
}

static bool inflate_all(const unsigned char *from, uint64_t packed, unsigned char *to,
                        uint64_t size) {
    z_stream z = {.next_in = (unsigned char *)from, .next_out = to};
    int code = inflateInit2(&z, -MAX_WBITS);
    if (code != Z_OK)
        return false;
    while (code == Z_OK) { /* no progress is Z_BUF_ERROR */
        const uint64_t more_in = packed - z.total_in, more_out = size - z.total_out;
        z.avail_in = (uInt)(more_in < UINT32_MAX ? more_in : UINT32_MAX);
        z.avail_out = (uInt)(more_out < UINT32_MAX ? more_out : UINT32_MAX);
        code = inflate(&z, Z_NO_FLUSH);
    }
    (void)inflateEnd(&z);
    return code == Z_STREAM_END && z.total_out == size;
}

static uint32_t sum_of(const unsigned char *bytes, uint64_t size) {
    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, (z_size_t)size);
}

static assay_status take_array(const state_slot *slot, const member *m,
                               const unsigned char *bytes) {
    char type[NPY_TYPE];
    packed_tensor t;
    if (sum_of(bytes, m->size) != m->crc)
        return state_refuse(slot, "damaged: its checksum is another; make the file anew");
    const char *wrong = npy_parse(bytes, (size_t)m->size, type, &t);
    return wrong == NULL ? packed_take(slot, &t) : state_refuse(slot, "%s", wrong);
}

static assay_status take_member(const packed_file *file, const member *m, const state_slot *slot) {
    const unsigned char *data = find_data(file, m);
    if (data == NULL || (m->method == STORED && m->packed != m->size))
        return state_refuse(slot, "its data lie outside the file; make the file anew");
    if ((m->flags & ENCRYPTED) != 0 || (m->method != STORED && m->method != DEFLATED))
        return state_refuse(slot, "encrypted, or packed in an unknown way; make the file anew with "
                                  "numpy.savez");
    /* Before memory is asked for: few bytes may inflate to many. */
    if (m->size > packed_most_bytes(slot) + MOST_HEADER)
        return state_refuse(slot, "larger than the case's tensor; name another case");
    if (m->method == STORED)
        return take_array(slot, m, data);
    unsigned char *bytes = malloc((size_t)m->size + 1);
    if (bytes == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for /%s/%s", slot->path, slot->group,
                          slot->spec->name);
    const assay_status status = inflate_all(data, m->packed, bytes, m->size)
                                    ? take_array(slot, m, bytes)
                                    : state_refuse(slot, "its packed data are damaged; make the "
                                                         "file anew");
    free(bytes);
    return status;
}

static assay_status read_array(const packed_file *file, const state_reading *r, member *m) {
    static const char suffix[] = ".npy";
    state_slot slot;
    const size_t length = strlen(m->name), end = sizeof suffix - 1;
    if (length <= end || strcmp(m->name + length - end, suffix) != 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: its member %.100s is no .npy array; make it with numpy.savez",
                          file->path, m->name);
    m->name[length - end] = '\0';
    const assay_status status = packed_find(r, m->name, &slot);
    if (status != ASSAY_OK || slot.use == STATE_IGNORE)
        return status;
    return take_member(file, m, &slot);
}

assay_status npz_read(const packed_file *file, const state_reading *r) {
    uint64_t at, members;
    if (!find_directory(file, &at, &members))
        return damaged(file);
    assay_status status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < members; ++i) {
        member m;
        status = read_member(file, &at, &m) ? read_array(file, r, &m) : damaged(file);
    }
    return status;
}
