/* The archive of an .npz: each of its records read as PKWARE says, and held to the file. */
#include "assay/state.h"
#include "golden/npy.h"
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <string.h>
#include <zlib.h>

#define CASE "weighted_sum n=2 d=3 dtype=f32 seed=5"
#define NAME "in/w.npy"

/* Records of an archive, in the order of the file. */
typedef enum record {
    LOCAL,
    DATA,
    CENTRAL,
    NAMED,
    EXTRA,
    WIDE,
    END64,
    LOCATOR,
    END,
    COMMENT,
    RECORDS
} record;
typedef enum form { STORED, DEFLATED, ZIP64, FORMS } form;

enum { ROOM = 1024, SIZE = 128 + 12 /* of w as .npy */, LOCAL_SIZE = 30, CENTRAL_SIZE = 46 };

typedef struct archive {
    unsigned char bytes[ROOM];
    size_t size, at[RECORDS];
} archive;

static void set(archive *a, size_t at, int width, uint64_t value) {
    for (int i = 0; i < width; ++i)
        a->bytes[at + (size_t)i] = (unsigned char)(value >> 8 * i);
}

/* Begins a record of zeros with its signature. */
static size_t begin(archive *a, record r, size_t size, const char *signature) {
    REQUIRE(a->size + size <= ROOM);
    a->at[r] = a->size;
    memcpy(a->bytes + a->size, signature, strlen(signature));
    a->size += size;
    return a->at[r];
}

static void make_array(const char *magic, unsigned char array[SIZE]) {
    static const float w[3] = {1, -2, 0.5F};
    char header[NPY_HEADER];
    REQUIRE(npy_format("<f4", 1, (const int64_t[]){3}, header) == 128);
    memcpy(array, header, 128);
    memcpy(array, magic, strlen(magic));
    memcpy(array + 128, w, sizeof w);
}

static size_t deflate_all(const unsigned char *from, size_t size, unsigned char *to, size_t room) {
    z_stream z = {.next_in = (unsigned char *)from,
                  .avail_in = (uInt)size,
                  .next_out = to,
                  .avail_out = (uInt)room};
    REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
    REQUIRE(deflateEnd(&z) == Z_OK);
    return z.total_out;
}

static void put_directory(archive *a, bool wide, size_t packed) {
    const size_t central = begin(a, CENTRAL, CENTRAL_SIZE, "PK\1\2");
    set(a, central + 20, 4, wide ? UINT32_MAX : packed);
    set(a, central + 24, 4, wide ? UINT32_MAX : SIZE);
    set(a, central + 28, 2, sizeof NAME - 1);
    set(a, central + 42, 4, wide ? UINT32_MAX : 0);
    begin(a, NAMED, sizeof NAME - 1, NAME);
    if (!wide)
        return;
    set(a, central + 30, 2, 5 + 28);
    begin(a, EXTRA, 5, "UT\1"); /* a field of others, of one byte */
    const size_t extra = begin(a, WIDE, 28, "\1");
    set(a, extra + 2, 2, 24);
    set(a, extra + 4, 8, SIZE);
    set(a, extra + 12, 8, packed);
}

/* An archive of one array, w = (1, -2, 0.5). */
static void make(archive *a, form f, const char *magic) {
    unsigned char array[SIZE], packed[ROOM];
    const bool wide = f == ZIP64;
    *a = (archive){0};
    make_array(magic, array);
    const size_t local = begin(a, LOCAL, LOCAL_SIZE, "PK\3\4");
    set(a, local + 26, 2, sizeof NAME - 1);
    begin(a, NAMED, sizeof NAME - 1, NAME);
    memcpy(packed, array, SIZE);
    const size_t length = f == DEFLATED ? deflate_all(array, SIZE, packed, ROOM) : SIZE;
    memcpy(a->bytes + begin(a, DATA, length, ""), packed, length);
    put_directory(a, wide, length);
    set(a, a->at[CENTRAL] + 10, 2, f == DEFLATED ? 8 : 0);
    set(a, a->at[CENTRAL] + 16, 4, (uint32_t)crc32(0, array, SIZE));
    if (wide) {
        const size_t end64 = begin(a, END64, 56, "PK\6\6");
        set(a, end64 + 32, 8, 1);
        set(a, end64 + 48, 8, a->at[CENTRAL]);
        set(a, begin(a, LOCATOR, 20, "PK\6\7") + 8, 8, end64);
    }
    const size_t end = begin(a, END, 22, "PK\5\6");
    set(a, end + 10, 2, wide ? UINT16_MAX : 1);
    set(a, end + 16, 4, wide ? UINT32_MAX : a->at[CENTRAL]);
    set(a, end + 20, 2, 4);
    begin(a, COMMENT, 4, "PK\3\4"); /* as a record begins */
}

/* NULL: taken, and w is what it was; otherwise refused with that line. */
static void check_read(const golden_folder *folder, const archive *a, const char *line,
                       const char *what) {
    const assay_case c = golden_case(CASE);
    assay_problem p;
    int32_t taken;
    golden_bytes_write(folder->file, a->bytes, a->size);
    REQUIRE_OK(assay_problem_init(&p, &c));
    const assay_status status = assay_state_read(folder->file, &p, &taken);
    if (line == NULL)
        CHECK_MSG(status == ASSAY_OK && taken == 1 && p.in.data[1][0] == 1 &&
                      p.in.data[1][1] == -2 && p.in.data[1][2] == 0.5,
                  "%s: %s", what, assay_error());
    else
        CHECK_MSG(status == ASSAY_ERR_FILE && strstr(assay_error(), line) != NULL,
                  "%s: status %d, '%s'", what, (int)status, assay_error());
    assay_problem_clear(&p);
}

/* Where an archive's last four bytes are. */
enum { LAST = LOCAL_SIZE + 2 * (sizeof NAME - 1) + SIZE + CENTRAL_SIZE + 22 };

#define DAMAGED "damaged, or cut short"
#define OUTSIDE "/in/w: its data lie outside the file"
#define PACKED  "/in/w: its packed data are damaged"

static const struct {
    const char *what;
    form form;
    record record; /* what is written over: there, */
    size_t offset;
    int width;
    uint64_t value;
    const char *line; /* NULL: it is taken all the same */
} edits[] = {
    {"stored", STORED, LOCAL, 0, 0, 0, NULL},
    {"deflated", DEFLATED, LOCAL, 0, 0, 0, NULL},
    {"of 64 bits", ZIP64, LOCAL, 0, 0, 0, NULL},
    {"of 64 bits for its place alone", ZIP64, END, 10, 2, 1, NULL},
    {"no record before the data", STORED, CENTRAL, 42, 4, 1, OUTSIDE},
    {"a long name before the data", STORED, LOCAL, 26, 2, 65535, OUTSIDE},
    {"no entry in the directory", STORED, CENTRAL, 0, 1, 'x', DAMAGED},
    {"an unknown way of packing", STORED, CENTRAL, 10, 2, 12, "packed in an unknown way"},
    {"encrypted", STORED, CENTRAL, 8, 2, 1, "encrypted"},
    {"another checksum", STORED, CENTRAL, 16, 1, 0, "/in/w: damaged: its checksum"},
    {"more bytes than the file has", STORED, CENTRAL, 20, 4, ROOM, OUTSIDE},
    {"stored in fewer bytes than it has", STORED, CENTRAL, 24, 4, SIZE - 1, OUTSIDE},
    {"a name beyond the file", STORED, CENTRAL, 28, 2, 60000, DAMAGED},
    {"a short name", STORED, CENTRAL, 28, 2, 4, "its member in/w is no .npy array"},
    {"another ending", STORED, NAMED, 7, 1, 'x', "member in/w.npx is no"},
    {"a name that a terminal obeys", STORED, NAMED, 3, 1, 0x7f, "/in/?: this"},
    {"a name with an escape", STORED, NAMED, 3, 1, 0x1b, "/in/?: this"},
    {"data beyond the file", STORED, CENTRAL, 42, 4, 1 << 20, OUTSIDE},
    {"data at the file's last bytes", STORED, CENTRAL, 42, 4, LAST, OUTSIDE},
    {"a member too many", STORED, END, 10, 2, 2, DAMAGED},
    {"65535 members, and no record of 64 bits", STORED, END, 10, 2, 65535, DAMAGED},
    {"no place, and no record of 64 bits", STORED, END, 16, 4, UINT32_MAX, DAMAGED},
    {"no directory there", STORED, END, 16, 4, 0, DAMAGED},
    {"packed data of no known kind", DEFLATED, DATA, 0, 1, 0xff, PACKED},
    {"packed data that end early", DEFLATED, CENTRAL, 20, 4, 20, PACKED},
    {"packed data of more bytes", DEFLATED, CENTRAL, 24, 4, SIZE - 1, PACKED},
    {"packed data of fewer bytes", DEFLATED, CENTRAL, 24, 4, SIZE + 1, PACKED},
    {"packed data beyond the file", DEFLATED, CENTRAL, 20, 4, ROOM, OUTSIDE},
    {"too large for the tensor", DEFLATED, CENTRAL, 24, 4, 1 << 20, "larger than the case's"},
    {"no place of the record of 64 bits", ZIP64, LOCATOR, 0, 1, 'x', DAMAGED},
    {"no record of 64 bits there", ZIP64, LOCATOR, 8, 8, 3, DAMAGED},
    {"a record of 64 bits beyond the file", ZIP64, LOCATOR, 8, 8, UINT64_MAX, DAMAGED},
    {"a member too many of 64 bits", ZIP64, END64, 32, 8, 2, DAMAGED},
    {"a directory beyond the file", ZIP64, END64, 48, 8, UINT64_MAX - 45, DAMAGED},
    {"an extra field that is longer than all", ZIP64, EXTRA, 2, 2, 60000, DAMAGED},
    {"an extra field without the place", ZIP64, WIDE, 2, 2, 20, DAMAGED},
    {"one field of 64 bits too many", ZIP64, CENTRAL, 24, 4, SIZE, OUTSIDE},
    {"data of 2^64 - 1 bytes", ZIP64, WIDE, 12, 8, UINT64_MAX, OUTSIDE},
    {"data at 2^64 - 20", ZIP64, WIDE, 20, 8, UINT64_MAX - 19, OUTSIDE},
};

ASSAY_TEST(npz, each_record_is_held_to_the_file, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; ++i) {
        archive a;
        make(&a, edits[i].form, "\x93NUMPY");
        set(&a, a.at[edits[i].record] + edits[i].offset, edits[i].width, edits[i].value);
        check_read(&folder, &a, edits[i].line, edits[i].what);
    }
    golden_folder_clear(&folder);
}

ASSAY_TEST(npz, a_member_that_is_no_array_gets_its_line, "unit golden") {
    golden_folder folder;
    archive a;
    golden_folder_init(&folder);
    make(&a, DEFLATED, "NUMPY");
    check_read(&folder, &a, "/in/w: not a .npy array", "another signature");
    golden_folder_clear(&folder);
}

/* Of an archive without members there is its end alone. */
ASSAY_TEST(npz, an_end_alone_is_read, "unit golden") {
    golden_folder folder;
    archive a = {0};
    golden_folder_init(&folder);
    begin(&a, END, 22, "PK\5\6");
    check_read(&folder, &a, "no tensor in /in or /cot", "no member");
    set(&a, 10, 2, 65535);
    check_read(&folder, &a, DAMAGED, "65535 members");
    golden_folder_clear(&folder);
}

/* Whatever bytes it has, each cut and each changed byte ends in the tensor, or in one line. */
ASSAY_TEST(npz, damage_is_survived, "unit golden") {
    golden_folder folder;
    const assay_case c = golden_case(CASE);
    assay_problem p;
    int32_t taken;
    golden_folder_init(&folder);
    REQUIRE_OK(assay_problem_init(&p, &c));
    for (int f = 0; f < FORMS; ++f) {
        archive a;
        make(&a, (form)f, "\x93NUMPY");
        for (size_t i = 0; i < a.size; ++i) {
            const unsigned char kept = a.bytes[i];
            a.bytes[i] = (unsigned char)~kept;
            golden_bytes_write(folder.file, a.bytes, a.size);
            const assay_status status = assay_state_read(folder.file, &p, &taken);
            CHECK_MSG(status == ASSAY_OK ||
                          (status == ASSAY_ERR_FILE && strchr(assay_error(), '\n') == NULL),
                      "byte %zu of form %d: '%s'", i, f, assay_error());
            a.bytes[i] = kept;
        }
    }
    assay_problem_clear(&p);
    golden_folder_clear(&folder);
}
