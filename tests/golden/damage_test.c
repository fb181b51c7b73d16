/* Every kind of damage to a golden file gives one line, and none a crash or a wrong number. */
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CASE    "kronecker b=3 f=2x3 dtype=f32 seed=5"
#define SWAPPED "kronecker f=2x3 b=3 dtype=f32 seed=5"
#define LONGER  "kronecker b=4 f=2x3 dtype=f32 seed=5"

/* ---- damage within the file's structure, done with HDF5 itself ---- */

static void put_text(hid_t object, const char *name, const char *text) {
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    H5Adelete(object, name);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_variable_text(hid_t object, const char *name, const char *text) {
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, H5T_VARIABLE);
    H5Adelete(object, name);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(attribute, type, &text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_numbers(hid_t object, const char *name, hid_t type, hsize_t count, int value) {
    const int values[2] = {value, value};
    const hid_t space = count > 0 ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    H5Adelete(object, name);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(H5Awrite(attribute, H5T_NATIVE_INT, values) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* Puts an empty dataset in place of another. */
static void put_dataset(hid_t group, const char *name, hid_t type, hid_t space) {
    H5Ldelete(group, name, H5P_DEFAULT);
    const hid_t dataset =
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

static hid_t extents(int rank, hsize_t a, hsize_t b, hsize_t c) {
    const hsize_t shape[3] = {a, b, c};
    return H5Screate_simple(rank, shape, NULL);
}

static void drop_group(hid_t g) {
    H5Ldelete(g, "grad", H5P_DEFAULT);
}
static void drop_input(hid_t g) {
    H5Ldelete(g, "in/w1_2", H5P_DEFAULT);
}
static void drop_output(hid_t g) {
    H5Ldelete(g, "out/y", H5P_DEFAULT);
}
static void drop_bounds(hid_t g) {
    H5Ldelete(g, "bound", H5P_DEFAULT);
}
static void drop_schema(hid_t g) {
    H5Adelete(g, "schema");
}
static void drop_source(hid_t g) {
    H5Adelete(g, "source");
}
static void drop_library(hid_t g) {
    H5Adelete(g, "library");
}
static void drop_seal(hid_t g) {
    H5Adelete(g, "sha256");
}
static void drop_hash(hid_t g) {
    H5Adelete_by_name(g, "in/x", "sha256", H5P_DEFAULT);
}
static void next_schema(hid_t g) {
    put_numbers(g, "schema", H5T_STD_I32LE, 0, 2);
}
static void wide_schema(hid_t g) {
    put_numbers(g, "schema", H5T_STD_I64LE, 0, 1);
}
static void real_schema(hid_t g) {
    put_numbers(g, "schema", H5T_IEEE_F32LE, 0, 1);
}
static void two_schemas(hid_t g) {
    put_numbers(g, "schema", H5T_STD_I32LE, 2, 1);
}
static void signed_seed(hid_t g) {
    put_numbers(g, "seed", H5T_STD_I64LE, 0, 5);
}
static void other_seed(hid_t g) {
    put_numbers(g, "seed", H5T_STD_U64LE, 0, 6);
}
static void odd_foreign(hid_t g) {
    put_numbers(g, "foreign", H5T_STD_I32LE, 0, 2);
}
static void turned_foreign(hid_t g) {
    put_numbers(g, "foreign", H5T_STD_I32LE, 0, 1);
}
static void other_case(hid_t g) {
    put_text(g, "case", LONGER);
}
static void other_source(hid_t g) {
    put_text(g, "source", "hearsay");
}
static void variable_source(hid_t g) {
    put_variable_text(g, "source", "hearsay");
}
static void long_source(hid_t g) {
    char text[1000];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    put_text(g, "source", text);
}
static void number_source(hid_t g) {
    put_numbers(g, "source", H5T_STD_I32LE, 0, 1);
}
static void other_hash(hid_t g) {
    const hid_t dataset = H5Dopen2(g, "in/x", H5P_DEFAULT);
    put_text(dataset, "sha256", "00");
    H5Dclose(dataset);
}
static void other_value(hid_t g) {
    double x[18] = {0};
    const hid_t dataset = H5Dopen2(g, "grad/dx", H5P_DEFAULT);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
    H5Dclose(dataset);
}
static void narrow_type(hid_t g) {
    put_dataset(g, "in/x", H5T_IEEE_F32LE, extents(3, 3, 2, 3));
}
static void big_endian_type(hid_t g) {
    put_dataset(g, "in/x", H5T_IEEE_F64BE, extents(3, 3, 2, 3));
}
static void integer_type(hid_t g) {
    put_dataset(g, "in/x", H5T_STD_I64LE, extents(3, 3, 2, 3));
}
static void text_type(hid_t g) {
    put_dataset(g, "in/x", H5T_C_S1, extents(3, 3, 2, 3));
}
static void other_rank(hid_t g) {
    put_dataset(g, "out/y", H5T_IEEE_F64LE, extents(2, 3, 6, 0));
}
static void other_shape(hid_t g) {
    put_dataset(g, "in/x", H5T_IEEE_F64LE, extents(3, 3, 3, 2));
}
static void huge_shape(hid_t g) {
    put_dataset(g, "grad/dx", H5T_IEEE_F64LE, extents(3, 3, 2, (hsize_t)1 << 40));
}
static void null_space(hid_t g) {
    put_dataset(g, "in/dy", H5T_IEEE_F64LE, H5Screate(H5S_NULL));
}
static void group_for_dataset(hid_t g) {
    H5Ldelete(g, "in/x", H5P_DEFAULT);
    H5Gclose(H5Gcreate2(g, "in/x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}
static void dataset_for_group(hid_t g) {
    put_dataset(g, "in", H5T_IEEE_F64LE, extents(1, 1, 0, 0));
}
static void dangling_link(hid_t g) {
    H5Ldelete(g, "in/x", H5P_DEFAULT);
    H5Lcreate_soft("/nothing", g, "in/x", H5P_DEFAULT, H5P_DEFAULT);
}
static void looping_link(hid_t g) {
    H5Ldelete(g, "in/x", H5P_DEFAULT);
    H5Lcreate_soft("x", g, "in/x", H5P_DEFAULT, H5P_DEFAULT);
}
static void extra_tensor(hid_t g) {
    put_dataset(g, "out/z", H5T_IEEE_F64LE, extents(1, 1, 0, 0));
}
static void extra_group(hid_t g) {
    H5Gclose(H5Gcreate2(g, "notes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static const struct {
    void (*damage)(hid_t group);
    const char *place, *what;
} damages[] = {
    {drop_group, CASE "/grad: ", "missing"},
    {drop_input, CASE "/in/w1_2: ", "missing"},
    {drop_output, CASE ": ", "SHA-256 of the whole"},
    {drop_bounds, CASE ": ", "SHA-256 of the whole"},
    {drop_schema, CASE ": ", "attribute schema is missing"},
    {drop_source, CASE ": ", "attribute source is missing"},
    {drop_library, CASE ": ", "attribute library is missing"},
    {drop_seal, CASE ": ", "attribute sha256 is missing"},
    {drop_hash, CASE "/in/x: ", "attribute sha256 is missing"},
    {next_schema, CASE ": ", "schema 2, and this assay reads 1"},
    {wide_schema, CASE ": ", "attribute schema has the wrong type"},
    {real_schema, CASE ": ", "attribute schema has the wrong type"},
    {two_schemas, CASE ": ", "attribute schema is not a scalar"},
    {signed_seed, CASE ": ", "attribute seed has the wrong type"},
    {other_seed, CASE ": ", "attribute seed says otherwise: 6"},
    {odd_foreign, CASE ": ", "attribute foreign is 2"},
    {turned_foreign, CASE ": ", "SHA-256 of the whole"},
    {other_case, CASE ": ", "attribute case says otherwise: '" LONGER},
    {other_source, CASE ": ", "SHA-256 of the whole"},
    {variable_source, CASE ": ", "attribute source is no text"},
    {long_source, CASE ": ", "attribute source is no text"},
    {number_source, CASE ": ", "attribute source is no text"},
    {other_hash, CASE "/in/x: ", "does not have its SHA-256"},
    {other_value, CASE "/grad/dx: ", "does not have its SHA-256"},
    {narrow_type, CASE "/in/x: ", "not of type little-endian fp64"},
    {big_endian_type, CASE "/in/x: ", "not of type little-endian fp64"},
    {integer_type, CASE "/in/x: ", "not of type little-endian fp64"},
    {text_type, CASE "/in/x: ", "not of type little-endian fp64"},
    {other_rank, CASE "/out/y: ", "shape (3, 6), and the case says (3, 2, 3)"},
    {other_shape, CASE "/in/x: ", "shape (3, 3, 2), and the case says (3, 2, 3)"},
    {huge_shape, CASE "/grad/dx: ", "shape (3, 2, 1099511627776)"},
    {null_space, CASE "/in/dy: ", "shape cannot be read"},
    {group_for_dataset, CASE "/in/x: ", "not a dataset"},
    {dataset_for_group, CASE "/in: ", "not a group"},
    {dangling_link, CASE "/in/x: ", "not a dataset"},
    {looping_link, CASE "/in/x: ", "not a dataset"},
    {extra_tensor, CASE "/out: ", "holds 2 objects, 1 of which belong"},
    {extra_group, CASE ": ", "holds 5 objects, 4 of which belong"},
};

/* A file with CASE in it, open for damage. */
static hid_t open_damageable(const char *path) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    REQUIRE(file >= 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* some deletions find nothing, and may */
    return file;
}

/* One line that names the file and the place, says what is wrong and what to do. */
static void check_line(const char *path, const char *place, const char *what) {
    const char *line = assay_error();
    CHECK_MSG(strncmp(line, path, strlen(path)) == 0, "'%s' does not begin with the file", line);
    CHECK_MSG(strstr(line, place) != NULL, "'%s' does not name the place, %s", line, place);
    CHECK_MSG(strstr(line, what) != NULL, "'%s' does not say '%s'", line, what);
    CHECK_MSG(strstr(line, "restore it from version control or make it anew") != NULL,
              "'%s' has no remedy", line);
    CHECK_MSG(strchr(line, '\n') == NULL, "'%s' is more than a line", line);
}

static assay_status read_case(const char *path, const char *text) {
    assay_golden golden;
    const assay_case c = golden_case(text);
    const assay_status status = assay_golden_read(path, &c, &golden);
    assay_golden_clear(&golden);
    return status;
}

ASSAY_TEST(golden_damage, every_part_is_verified, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; ++i) {
        unlink(folder.file);
        golden_write_text(folder.file, CASE);
        const hid_t file = open_damageable(folder.file);
        const hid_t group = H5Gopen2(file, CASE, H5P_DEFAULT);
        REQUIRE(group >= 0);
        damages[i].damage(group);
        H5Gclose(group);
        REQUIRE(H5Fclose(file) >= 0);
        CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE, "");
        check_line(folder.file, damages[i].place, damages[i].what);
    }
    golden_folder_clear(&folder);
}

static assay_status ignore(const char *text, const char *source, bool foreign, void *context) {
    (void)text;
    (void)source;
    (void)foreign;
    (void)context;
    return ASSAY_OK;
}

static void check_name(const char *name, const char *attribute, const char *what) {
    golden_folder folder;
    golden_folder_init(&folder);
    golden_write_text(folder.file, CASE);
    const hid_t file = open_damageable(folder.file);
    REQUIRE(H5Lmove(file, CASE, file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    const hid_t group = H5Gopen2(file, name, H5P_DEFAULT);
    put_text(group, "case", attribute);
    H5Gclose(group);
    REQUIRE(H5Fclose(file) >= 0);
    CHECK_FAILS(assay_golden_visit(folder.file, ignore, NULL), ASSAY_ERR_FILE, "");
    check_line(folder.file, name, what);
    CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE,
                "no such case; `assay golden list kronecker` lists them");
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_damage, names_are_verified, "unit golden") {
    check_name(LONGER, CASE, "attribute case says otherwise: '" CASE "'");
    check_name(SWAPPED, SWAPPED, "not in canonical form, which is '" CASE "'");
    check_name("kronecker b=three", "kronecker b=three", "not a legal case");
    check_name("notes", "notes", "not a legal case");
}

/* The same data under another case: every attribute agrees, but no longer the shapes. */
ASSAY_TEST(golden_damage, a_renamed_case_is_noticed, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    golden_write_text(folder.file, CASE);
    const hid_t file = open_damageable(folder.file);
    REQUIRE(H5Lmove(file, CASE, file, LONGER, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    const hid_t group = H5Gopen2(file, LONGER, H5P_DEFAULT);
    put_text(group, "case", LONGER);
    H5Gclose(group);
    REQUIRE(H5Fclose(file) >= 0);
    CHECK_FAILS(read_case(folder.file, LONGER), ASSAY_ERR_FILE, "");
    check_line(folder.file, LONGER, "and the case says (4, 2, 3)");
    golden_folder_clear(&folder);
}

/* ---- damage to the bytes ---- */

/* HDF5 1.10 itself leaks an object header whose checksum is wrong; what our own code allocates is
 * still looked after. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libhdf5\n";
}

ASSAY_TEST(golden_damage, other_files_are_refused, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE, "No such file or directory");
    golden_bytes_write(folder.file, (const unsigned char *)"", 0);
    CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE, "not an HDF5 file");
    golden_bytes_write(folder.file, (const unsigned char *)"x,w,dy\n1,2,3\n", 13);
    CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE, "not an HDF5 file");
    CHECK_FAILS(assay_golden_visit(folder.file, ignore, NULL), ASSAY_ERR_FILE, "not an HDF5 file");
    H5Fclose(H5Fcreate(folder.file, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    CHECK_FAILS(read_case(folder.file, CASE), ASSAY_ERR_FILE, "in the format of 1.10");
    CHECK_FAILS(read_case(folder.path, CASE), ASSAY_ERR_FILE, folder.path);
    golden_folder_clear(&folder);
}

/* Standard error goes to a file meanwhile: HDF5 must not print there. */
typedef struct silence {
    int before, file;
} silence;

static silence silence_begin(void) {
    char path[] = P_tmpdir "/assay-stderr-XXXXXX";
    silence s = {.before = dup(STDERR_FILENO), .file = mkstemp(path)};
    REQUIRE(s.before >= 0 && s.file >= 0);
    unlink(path);
    dup2(s.file, STDERR_FILENO);
    return s;
}

/* How many bytes were printed. */
static long long silence_end(silence *s) {
    struct stat info = {0};
    fstat(s->file, &info);
    dup2(s->before, STDERR_FILENO);
    close(s->before);
    close(s->file);
    return (long long)info.st_size;
}

typedef struct victim {
    golden_folder folder;
    golden_bytes whole;
    assay_golden truth;
    assay_case c;
    int noticed, harmless;
} victim;

static void victim_init(victim *v) {
    *v = (victim){.c = golden_case(CASE)};
    golden_folder_init(&v->folder);
    golden_write_text(v->folder.file, CASE);
    v->whole = golden_bytes_read(v->folder.file);
    REQUIRE_OK(assay_golden_read(v->folder.file, &v->c, &v->truth));
}

static void victim_clear(victim *v) {
    assay_golden_clear(&v->truth);
    free(v->whole.data);
    golden_folder_clear(&v->folder);
}

static bool same_values(const assay_arrays *a, const assay_arrays *b) {
    for (int32_t i = 0; i < a->count; ++i) {
        if ((a->data[i] == NULL) != (b->data[i] == NULL))
            return false;
        if (a->data[i] != NULL &&
            memcmp(a->data[i], b->data[i], (size_t)a->size[i] * sizeof(double)) != 0)
            return false;
    }
    return true;
}

/* Reads what lies in the folder now: the truth, or an error of one line. */
static void attack(victim *v, const char *how, size_t at) {
    assay_golden golden;
    const assay_status status = assay_golden_read(v->folder.file, &v->c, &golden);
    const assay_status visited = assay_golden_visit(v->folder.file, ignore, NULL);
    CHECK_MSG(visited == ASSAY_OK || visited == ASSAY_ERR_FILE, "%s %zu: visit gives %d", how, at,
              (int)visited);
    if (status == ASSAY_OK) {
        ++v->harmless;
        CHECK_MSG(same_values(&golden.problem.in, &v->truth.problem.in) &&
                      same_values(&golden.problem.cot, &v->truth.problem.cot) &&
                      same_values(&golden.want.out, &v->truth.want.out) &&
                      same_values(&golden.want.grad, &v->truth.want.grad) &&
                      strcmp(golden.source, v->truth.source) == 0 &&
                      golden.foreign == v->truth.foreign,
                  "%s %zu: other values were read without an error", how, at);
    } else {
        ++v->noticed;
        CHECK_MSG(status == ASSAY_ERR_FILE && strchr(assay_error(), '\n') == NULL,
                  "%s %zu: status %d, '%s'", how, at, (int)status, assay_error());
    }
    assay_golden_clear(&golden);
}

ASSAY_TEST(golden_damage, flipped_bits_are_noticed, "unit golden") {
    victim v;
    victim_init(&v);
    silence quiet = silence_begin();
    for (size_t at = 0; at < v.whole.size; at += at < 2048 ? 1 : 3) {
        const unsigned char before = v.whole.data[at];
        v.whole.data[at] = (unsigned char)(before ^ (1u << (at % 8)));
        golden_bytes_write(v.folder.file, v.whole.data, v.whole.size);
        attack(&v, "bit flipped in byte", at);
        v.whole.data[at] = before;
    }
    CHECK(silence_end(&quiet) == 0);
    CHECK_MSG(v.noticed > v.harmless, "%d noticed, %d harmless", v.noticed, v.harmless);
    victim_clear(&v);
}

ASSAY_TEST(golden_damage, bytes_set_to_extremes_are_noticed, "unit golden") {
    victim v;
    victim_init(&v);
    silence quiet = silence_begin();
    for (size_t at = 0; at < v.whole.size; at += 7) {
        const unsigned char before = v.whole.data[at];
        v.whole.data[at] = at % 2 == 0 ? 0xff : 0x00;
        golden_bytes_write(v.folder.file, v.whole.data, v.whole.size);
        attack(&v, "extreme in byte", at);
        v.whole.data[at] = before;
    }
    CHECK(silence_end(&quiet) == 0);
    victim_clear(&v);
}

ASSAY_TEST(golden_damage, truncation_is_noticed, "unit golden") {
    victim v;
    victim_init(&v);
    silence quiet = silence_begin();
    for (size_t size = 0; size < v.whole.size; size += size < 256 ? 1 : 37) {
        golden_bytes_write(v.folder.file, v.whole.data, size);
        attack(&v, "truncated to", size);
    }
    CHECK(silence_end(&quiet) == 0);
    CHECK(v.harmless == 0);
    victim_clear(&v);
}
