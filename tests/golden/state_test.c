/* State files: what is written comes back, and what another program got wrong gives one line. */
#include "assay/state.h"
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE "cross_entropy t=3 v=5 gradient=1 dtype=f32 seed=5"

/* ---- help ---- */

/* Writes the case, with our oracle's answers as what a variant left. */
static void write_sample(const char *path, const char *text) {
    golden_sample sample;
    golden_sample_init(&sample, text);
    REQUIRE_OK(assay_state_write(path, &sample.problem, &sample.reference.want));
    golden_sample_clear(&sample);
}

static assay_status read_into(const char *path, const char *text, assay_problem *p,
                              int32_t *taken) {
    const assay_case c = golden_case(text);
    REQUIRE_OK(assay_problem_init_empty(p, &c));
    return assay_state_read(path, p, taken);
}

static assay_status read_only(const char *path, const char *text) {
    assay_problem p;
    int32_t taken;
    const assay_status status = read_into(path, text, &p, &taken);
    assay_problem_clear(&p);
    return status;
}

/* Where both are numbers the same ones, bit for bit. */
static void check_same(const char *text, const assay_arrays *got, const assay_arrays *want) {
    for (int32_t i = 0; i < want->count; ++i)
        for (int64_t e = 0; want->data[i] != NULL && e < want->size[i]; ++e) {
            const double a = got->data[i][e], b = want->data[i][e];
            const bool same = (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
            CHECK_MSG(same, "%s: element %lld of tensor %d: %.17g came back as %.17g", text,
                      (long long)e, i, b, a);
        }
}

static hid_t open_with(const char *path, H5F_libver_t low, bool create) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, low, H5F_LIBVER_LATEST);
    const hid_t file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                              : H5Fopen(path, H5F_ACC_RDWR, access);
    H5Pclose(access);
    REQUIRE(file >= 0);
    return file;
}

static void put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *shape,
                const double *data) {
    const hid_t list = H5Pcreate(H5P_LINK_CREATE), space = H5Screate_simple(rank, shape, NULL);
    H5Pset_create_intermediate_group(list, 1);
    const hid_t dataset = H5Dcreate2(file, name, type, space, list, H5P_DEFAULT, H5P_DEFAULT);
    REQUIRE(dataset >= 0);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
}

/* ---- what is written comes back ---- */

static const char *const round_trips[] = {
    CASE,
    "cross_entropy t=7 v=3 dtype=f64 fill=huge seed=1",
    "cross_entropy t=4 v=9 dtype=bf16 fill=inf seed=0",
    "attention b=1 h=2 sq=3 d=4 dtype=f16 fill=nan seed=0",
    "adamw n=33 dtype=f32 seed=2",
    "embedding t=5 v=3 d=4 dtype=bf16 seed=0",
    "weighted_sum n=none d=6 dtype=f32 pad=3 misalign=1 seed=0",
    "weighted_sum n=3x0 d=6 dtype=f64 seed=0",
};

ASSAY_TEST(state, what_is_written_comes_back, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; ++i) {
        const char *text = round_trips[i];
        golden_sample sample;
        assay_problem back;
        int32_t taken, there = 0;
        golden_sample_init(&sample, text);
        REQUIRE_OK(assay_state_write(folder.file, &sample.problem, &sample.reference.want));
        REQUIRE_OK(read_into(folder.file, text, &back, &taken));
        check_same(text, &back.in, &sample.problem.in);
        check_same(text, &back.cot, &sample.problem.cot);
        for (int32_t o = 0; o < back.cot.count; ++o)
            there += back.cot.data[o] != NULL;
        CHECK(taken == back.in.count + there);

        const golden_bytes first = golden_bytes_read(folder.file);
        REQUIRE_OK(assay_state_write(folder.file, &sample.problem, &sample.reference.want));
        const golden_bytes second = golden_bytes_read(folder.file);
        CHECK_MSG(golden_bytes_equal(&first, &second), "%s: other bytes the second time", text);
        free(first.data);
        free(second.data);
        assay_problem_clear(&back);
        golden_sample_clear(&sample);
    }
    CHECK(golden_folder_count(&folder) == 1);
    golden_folder_clear(&folder);
}

/* ---- what other programs find ---- */

static void check_dataset(hid_t file, const char *name, hid_t type, int rank, hsize_t rows) {
    hsize_t shape[ASSAY_MAX_RANK] = {0};
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    REQUIRE_MSG(dataset >= 0, "%s is not there", name);
    const hid_t stored = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hid_t list = H5Dget_create_plist(dataset);
    CHECK_MSG(H5Tequal(stored, type) > 0, "%s has another type", name);
    CHECK_MSG(H5Sget_simple_extent_dims(space, shape, NULL) == rank && shape[0] == rows,
              "%s has another shape", name);
    CHECK_MSG(H5Pget_layout(list) == H5D_CONTIGUOUS, "%s does not lie flat", name);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(stored);
    H5Dclose(dataset);
}

static hsize_t objects_of(hid_t file, const char *group) {
    H5G_info_t info = {0};
    REQUIRE(H5Gget_info_by_name(file, group, &info, H5P_DEFAULT) >= 0);
    return info.nlinks;
}

ASSAY_TEST(state, other_programs_find_tensors_by_name, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    write_sample(folder.file, "cross_entropy t=3 v=5 gradient=1 dtype=bf16 seed=5");
    const hid_t file = H5Fopen(folder.file, H5F_ACC_RDONLY, H5P_DEFAULT);
    REQUIRE(file >= 0);
    CHECK(objects_of(file, "/") == 4 && objects_of(file, "in") == 2);
    CHECK(objects_of(file, "cot") == 1 && objects_of(file, "out") == 3);
    CHECK(objects_of(file, "grad") == 1);
    check_dataset(file, "in/logits", H5T_IEEE_F32LE, 2, 3);
    check_dataset(file, "in/target", H5T_STD_I32LE, 1, 3);
    check_dataset(file, "cot/loss", H5T_IEEE_F32LE, 1, 1);
    check_dataset(file, "out/gradient", H5T_IEEE_F32LE, 2, 3);
    check_dataset(file, "grad/logits", H5T_IEEE_F32LE, 2, 3);
    H5Fclose(file);
    golden_folder_clear(&folder);
}

ASSAY_TEST(state, groups_without_tensors_are_left_out, "unit golden") {
    golden_folder folder;
    golden_sample sample;
    golden_folder_init(&folder);
    golden_sample_init(&sample, "adamw n=3 dtype=f64 seed=0"); /* no gradients */
    REQUIRE_OK(assay_state_write(folder.file, &sample.problem, NULL));
    hid_t file = H5Fopen(folder.file, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(objects_of(file, "/") == 1 && objects_of(file, "in") == 4);
    H5Fclose(file);
    REQUIRE_OK(assay_state_write(folder.file, &sample.problem, &sample.reference.want));
    file = H5Fopen(folder.file, H5F_ACC_RDONLY, H5P_DEFAULT);
    CHECK(objects_of(file, "/") == 2 && objects_of(file, "out") == 3);
    H5Fclose(file);
    golden_sample_clear(&sample);
    golden_folder_clear(&folder);
}

/* ---- what other programs write ---- */

static const double logits[15] = {0.5, -1, 2, 3, -4, 5, 6.25, -7, 8, 9, 10, 11, 12, 13, -0.0};
static const double targets[3] = {4, 0, 2};
static const hsize_t table[2] = {3, 5}, tokens[1] = {3}, one[1] = {1};

static void check_taken(const char *path, H5F_libver_t low) {
    const assay_case c = golden_case(CASE);
    assay_problem p, drawn;
    int32_t taken;
    const hid_t file = open_with(path, low, true);
    put(file, "in/logits", H5T_IEEE_F32LE, 2, table, logits);
    put(file, "out/anything", H5T_STD_I64BE, 1, tokens, targets); /* not looked at */
    H5Fclose(file);
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_problem_init(&drawn, &c));
    REQUIRE_OK(assay_state_read(path, &p, &taken));
    CHECK(taken == 1);
    CHECK(memcmp(p.in.data[0], logits, sizeof logits) == 0);
    memcpy(drawn.in.data[0], logits, sizeof logits); /* all else stays as it was drawn */
    check_same(CASE, &p.in, &drawn.in);
    check_same(CASE, &p.cot, &drawn.cot);
    assay_problem_clear(&drawn);
    assay_problem_clear(&p);
}

ASSAY_TEST(state, only_what_is_there_is_taken, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    check_taken(folder.file, H5F_LIBVER_V110);
    check_taken(folder.file, H5F_LIBVER_LATEST);
    golden_folder_clear(&folder);
}

ASSAY_TEST(state, chunks_and_compression_are_read, "unit golden") {
    golden_folder folder;
    assay_problem p;
    int32_t taken;
    golden_folder_init(&folder);
    const hid_t file = open_with(folder.file, H5F_LIBVER_V110, true);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, table, NULL);
    const hsize_t chunk[2] = {2, 2};
    H5Pset_chunk(list, 2, chunk);
    H5Pset_deflate(list, 4);
    H5Gclose(H5Gcreate2(file, "in", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t dataset =
        H5Dcreate2(file, "in/logits", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    REQUIRE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, logits) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    H5Fclose(file);
    REQUIRE_OK(read_into(folder.file, CASE, &p, &taken));
    CHECK(memcmp(p.in.data[0], logits, sizeof logits) == 0);
    assay_problem_clear(&p);
    golden_folder_clear(&folder);
}

/* ---- what other programs get wrong ---- */

static void replace(hid_t f, const char *name, hid_t type, int rank, const hsize_t *shape,
                    const double *data) {
    H5Ldelete(f, name, H5P_DEFAULT);
    put(f, name, type, rank, shape, data);
}

static void wide_type(hid_t f) {
    replace(f, "in/logits", H5T_IEEE_F64LE, 2, table, logits);
}
static void big_endian_type(hid_t f) {
    replace(f, "in/logits", H5T_IEEE_F32BE, 2, table, logits);
}
static void real_index(hid_t f) {
    replace(f, "in/target", H5T_IEEE_F32LE, 1, tokens, targets);
}
static void wide_index(hid_t f) {
    replace(f, "in/target", H5T_STD_I64LE, 1, tokens, targets);
}
static void turned_shape(hid_t f) {
    replace(f, "in/logits", H5T_IEEE_F32LE, 2, (const hsize_t[]){5, 3}, logits);
}
static void other_rank(hid_t f) {
    replace(f, "in/logits", H5T_IEEE_F32LE, 1, (const hsize_t[]){15}, logits);
}
static void scalar_shape(hid_t f) {
    replace(f, "cot/loss", H5T_IEEE_F32LE, 0, NULL, logits);
}
static void null_space(hid_t f) {
    H5Ldelete(f, "cot/loss", H5P_DEFAULT);
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(
        H5Dcreate2(f, "cot/loss", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
}
static void index_beyond(hid_t f) {
    replace(f, "in/target", H5T_STD_I32LE, 1, tokens, (const double[]){4, 5, 2});
}
static void index_below(hid_t f) {
    replace(f, "in/target", H5T_STD_I32LE, 1, tokens, (const double[]){-1, 0, 2});
}
static void unknown_input(hid_t f) {
    put(f, "in/logit", H5T_IEEE_F32LE, 2, table, logits);
}
static void unknown_with_control(hid_t f) {
    put(f, "in/\nlogits\x1b[2J", H5T_IEEE_F32LE, 2, table, logits);
}
static void output_as_input(hid_t f) {
    put(f, "in/lse", H5T_IEEE_F32LE, 1, tokens, targets);
}
static void no_cotangent(hid_t f) {
    put(f, "cot/lse", H5T_IEEE_F32LE, 1, tokens, targets);
}
static void unknown_group(hid_t f) {
    put(f, "inputs/logits", H5T_IEEE_F32LE, 2, table, logits);
}
static void dataset_for_group(hid_t f) {
    replace(f, "cot", H5T_IEEE_F32LE, 1, one, logits);
}
static void group_for_dataset(hid_t f) {
    H5Ldelete(f, "in/logits", H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "in/logits", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}
static void soft_link(hid_t f) {
    H5Ldelete(f, "in/logits", H5P_DEFAULT);
    H5Lcreate_soft("/out/gradient", f, "in/logits", H5P_DEFAULT, H5P_DEFAULT);
}
static void external_group(hid_t f) {
    H5Ldelete(f, "in", H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/in", f, "in", H5P_DEFAULT, H5P_DEFAULT);
}
static void external_data(hid_t f) {
    H5Ldelete(f, "cot/loss", H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, one, NULL);
    H5Pset_external(list, "/etc/hostname", 0, 4);
    H5Dclose(H5Dcreate2(f, "cot/loss", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(list);
}
static void virtual_data(hid_t f) {
    H5Ldelete(f, "cot/loss", H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, one, NULL);
    H5Pset_virtual(list, space, "other.h5", "loss", space);
    H5Dclose(H5Dcreate2(f, "cot/loss", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(list);
}
/* Chunks of it are nowhere. */
static void put_empty(hid_t f, int rank, const hsize_t *shape, const hsize_t *chunk) {
    H5Ldelete(f, "cot/loss", H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, shape, NULL);
    H5Pset_chunk(list, rank, chunk);
    const hid_t set =
        H5Dcreate2(f, "cot/loss", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    REQUIRE(set >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}
static void too_many_axes(hid_t f) {
    hsize_t ones[ASSAY_MAX_RANK + 1];
    for (int a = 0; a <= ASSAY_MAX_RANK; ++a)
        ones[a] = 1;
    put_empty(f, ASSAY_MAX_RANK + 1, ones, ones);
}
static void damaged_chunk(hid_t f) {
    static const char garbage[] = "no deflated data";
    H5Ldelete(f, "cot/loss", H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, one, NULL);
    H5Pset_chunk(list, 1, one);
    H5Pset_deflate(list, 4);
    const hid_t set =
        H5Dcreate2(f, "cot/loss", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    const hsize_t first = 0;
    REQUIRE(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &first, sizeof garbage, garbage) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(list);
}
static void unknown_with_delete(hid_t f) {
    put(f, "in/\x7flogits", H5T_IEEE_F32LE, 2, table, logits);
}
static void nothing_to_take(hid_t f) {
    H5Ldelete(f, "in", H5P_DEFAULT);
    H5Ldelete(f, "cot", H5P_DEFAULT);
}

static const struct {
    void (*damage)(hid_t file);
    const char *place, *what;
} faults[] = {
    {wide_type, ": /in/logits: ", "not of type little-endian fp32; convert it"},
    {big_endian_type, ": /in/logits: ", "not of type little-endian fp32"},
    {real_index, ": /in/target: ", "not of type little-endian int32"},
    {wide_index, ": /in/target: ", "not of type little-endian int32"},
    {turned_shape, ": /in/logits: ", "shape (5, 3), and the case has (3, 5); reshape it"},
    {other_rank, ": /in/logits: ", "shape (15), and the case has (3, 5)"},
    {scalar_shape, ": /cot/loss: ", "shape (), and the case has (1)"},
    {null_space, ": /cot/loss: ", "shape cannot be read"},
    {index_beyond, ": /in/target: ", "element 1, 5, is no index here"},
    {index_below, ": /in/target: ", "element 0, -1, is no index here"},
    {unknown_input, ": /in/logit: ", "this case has no input of that name; --no-run writes"},
    {unknown_with_control, ": /in/?logits?[2J: ", "no input of that name"},
    {output_as_input, ": /in/lse: ", "no input of that name"},
    {no_cotangent, ": /cot/lse: ", "no output with a cotangent of that name"},
    {unknown_group, ": /inputs: ", "inputs belong in /in"},
    {dataset_for_group, ": /cot: ", "not a group"},
    {group_for_dataset, ": /in/logits: ", "not a dataset"},
    {soft_link, ": /in/logits: ", "not a dataset"},
    {external_group, ": /in: ", "not a group"},
    {external_data, ": /cot/loss: ", "its data lies in another file; copy it into this one"},
    {virtual_data, ": /cot/loss: ", "its data lies in another file; copy it into this one"},
    {too_many_axes, ": /cot/loss: ", "shape of too many axes, and the case has (1)"},
    {damaged_chunk, ": /cot/loss: ", "its compressed data cannot be verified"},
    {unknown_with_delete, ": /in/?logits: ", "no input of that name"},
    {nothing_to_take, ".h5: ", "no tensor in /in or /cot; --no-run writes"},
};

static void check_line(const char *path, const char *place, const char *what) {
    const char *line = assay_error();
    CHECK_MSG(strncmp(line, path, strlen(path)) == 0, "'%s' does not begin with the file", line);
    CHECK_MSG(strstr(line, place) != NULL, "'%s' does not name the place, %s", line, place);
    CHECK_MSG(strstr(line, what) != NULL, "'%s' does not say '%s'", line, what);
    CHECK_MSG(strchr(line, '\n') == NULL, "'%s' is more than a line", line);
}

ASSAY_TEST(state, faults_are_named_in_a_line, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        write_sample(folder.file, CASE);
        const hid_t file = open_with(folder.file, H5F_LIBVER_V110, false);
        faults[i].damage(file);
        REQUIRE(H5Fclose(file) >= 0);
        CHECK_FAILS(read_only(folder.file, CASE), ASSAY_ERR_FILE, "");
        check_line(folder.file, faults[i].place, faults[i].what);
    }
    golden_folder_clear(&folder);
}

ASSAY_TEST(state, values_must_be_the_tensors, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    hid_t file = open_with(folder.file, H5F_LIBVER_V110, true);
    put(file, "in/logits", H5T_IEEE_F32LE, 2, table, (const double[15]){1, 2, 1.00390625});
    H5Fclose(file);
    REQUIRE_OK(read_only(folder.file, CASE));
    CHECK_FAILS(read_only(folder.file, "cross_entropy t=3 v=5 dtype=bf16"), ASSAY_ERR_FILE,
                "element 2, 1.00390625, is not a value of the case's dtype; round");
    file = open_with(folder.file, H5F_LIBVER_V110, true);
    put(file, "in/v", H5T_IEEE_F64LE, 1, tokens, (const double[]){0, 1, -1e-300});
    H5Fclose(file);
    CHECK_FAILS(read_only(folder.file, "adamw n=3 dtype=f64"), ASSAY_ERR_FILE,
                "element 2, -1e-300, is negative");
    golden_folder_clear(&folder);
}

/* Of results alone, the inputs that lie beside them must be the case's. */
static void check_results(const char *path, const char *judged, const char *line) {
    assay_problem p;
    assay_results got;
    const assay_case c = golden_case(judged);
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    if (line == NULL)
        REQUIRE_OK(assay_state_read_results(path, &p, &got));
    else
        CHECK_FAILS(assay_state_read_results(path, &p, &got), ASSAY_ERR_FILE, line);
    assay_results_clear(&got);
    assay_problem_clear(&p);
}

#define SUM       "weighted_sum n=2 d=3 dtype=f32"
#define ATTENTION "attention b=1 h=2 sq=3 d=4 dtype=f32 seed=0"

ASSAY_TEST(state, results_of_other_inputs_are_refused, "unit golden") {
    static const char other[] = "; name the file of the inputs with --in";
    golden_folder folder;
    golden_folder_init(&folder);
    write_sample(folder.file, SUM " seed=5");
    check_results(folder.file, SUM " seed=5", NULL);
    check_results(folder.file, SUM " seed=6", other);
    write_sample(folder.file, ATTENTION);
    check_results(folder.file, ATTENTION " fill=nan", other);
    write_sample(folder.file, ATTENTION " fill=nan");
    check_results(folder.file, ATTENTION " fill=nan", NULL);
    check_results(folder.file, ATTENTION, other);
    golden_folder_clear(&folder);
}

ASSAY_TEST(state, a_path_names_a_file_or_a_finding, "unit golden") {
    static const char *const absent[] = {":", ":x", ":1x", ":0", ":99999999999"};
    golden_folder folder;
    char path[GOLDEN_TEST_PATH + 32];
    static char longest[5000];
    golden_folder_init(&folder);
    memset(longest, 'a', sizeof longest - 1);
    CHECK_FAILS(read_only(longest, CASE), ASSAY_ERR_FILE, "aaa: the path is too long");
    check_results(longest, CASE, "aaa: the path is too long");
    write_sample(folder.file, CASE);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; ++i) {
        snprintf(path, sizeof path, "%s%s", folder.file, absent[i]);
        CHECK_FAILS(read_only(path, CASE), ASSAY_ERR_FILE, "No such file or directory");
        check_line(path, absent[i], "No such file");
    }
    snprintf(path, sizeof path, "%s:1", folder.file);
    write_sample(path, CASE);
    REQUIRE_OK(read_only(path, CASE)); /* a file of that name is no finding's */
    REQUIRE(unlink(path) == 0);
    const hid_t file = open_with(folder.file, H5F_LIBVER_V110, true);
    put(file, "0001/inputs/logits", H5T_IEEE_F32LE, 2, table, logits);
    H5Fclose(file);
    CHECK_FAILS(read_only(path, CASE), ASSAY_ERR_FILE, "/inputs: unknown; inputs belong in /in");
    golden_folder_clear(&folder);
}

ASSAY_TEST(state, other_formats_are_refused, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    CHECK_FAILS(read_only(folder.file, CASE), ASSAY_ERR_FILE, "No such file or directory");
    golden_bytes_write(folder.file, (const unsigned char *)"", 0);
    CHECK_FAILS(read_only(folder.file, CASE), ASSAY_ERR_FILE, "not an HDF5 file; write it with");
    CHECK_FAILS(read_only(folder.path, CASE), ASSAY_ERR_FILE, folder.path);
    const hid_t file = open_with(folder.file, H5F_LIBVER_EARLIEST, true);
    put(file, "in/logits", H5T_IEEE_F32LE, 2, table, logits);
    H5Fclose(file);
    CHECK_FAILS(read_only(folder.file, CASE), ASSAY_ERR_FILE, "libver=\"v110\") or \"latest\"");
    golden_folder_clear(&folder);
}

/* Data has no checksum here, so a changed number may be read: all else is noticed. */
static void attack(const char *path, const golden_bytes *bytes, size_t size, const char *how,
                   size_t at) {
    golden_bytes_write(path, bytes->data, size);
    const assay_status status = read_only(path, CASE);
    CHECK_MSG(status == ASSAY_OK ||
                  (status == ASSAY_ERR_FILE && strchr(assay_error(), '\n') == NULL),
              "%s %zu: status %d, '%s'", how, at, (int)status, assay_error());
}

ASSAY_TEST(state, damage_is_survived, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    write_sample(folder.file, CASE);
    golden_bytes whole = golden_bytes_read(folder.file);
    for (size_t at = 0; at < whole.size; at += 3) {
        const unsigned char before = whole.data[at];
        whole.data[at] = (unsigned char)(before ^ (1u << (at % 8)));
        attack(folder.file, &whole, whole.size, "bit flipped in byte", at);
        whole.data[at] = before;
    }
    for (size_t size = 0; size < whole.size; size += 37) {
        attack(folder.file, &whole, size, "cut to", size);
        CHECK(read_only(folder.file, CASE) == ASSAY_ERR_FILE);
    }
    free(whole.data);
    golden_folder_clear(&folder);
}

/* ---- files that cannot be written ---- */

ASSAY_TEST(state, a_failure_leaves_the_old_file, "unit golden") {
    golden_folder folder;
    golden_sample sample;
    char missing[GOLDEN_TEST_PATH + 32];
    golden_folder_init(&folder);
    golden_sample_init(&sample, CASE);
    snprintf(missing, sizeof missing, "%s/no/case.h5", folder.path);
    CHECK_FAILS(assay_state_try(folder.path), ASSAY_ERR_FILE, "a folder; name a file");
    CHECK_FAILS(assay_state_try(missing), ASSAY_ERR_FILE, "No such file or directory");
    CHECK_FAILS(assay_state_write(missing, &sample.problem, NULL), ASSAY_ERR_FILE, missing);
    REQUIRE_OK(assay_state_try(folder.file));
    CHECK(golden_folder_count(&folder) == 0);
    golden_bytes_write(folder.file, (const unsigned char *)"old", 3);
    REQUIRE_OK(assay_state_try(folder.file));
    const golden_bytes old = golden_bytes_read(folder.file);
    CHECK(old.size == 3 && golden_folder_count(&folder) == 1);
    free(old.data);
    golden_sample_clear(&sample);
    golden_folder_clear(&folder);
}
