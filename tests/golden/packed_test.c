/* .npz and safetensors: what is written comes back, and what another program got wrong gives one
 * line. */
#include "assay/state.h"
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE "weighted_sum n=2 d=3 dtype=f32 seed=5"

static const char *const ends[] = {".npz", ".safetensors"};
enum { ENDS = 2, PATH = GOLDEN_TEST_PATH + 64 };

static void name_file(const golden_folder *folder, const char *end, char path[PATH]) {
    snprintf(path, PATH, "%s%s", folder->file, end);
}

static void check_same(const char *text, const assay_arrays *got, const assay_arrays *want) {
    for (int32_t i = 0; i < want->count; ++i)
        for (int64_t e = 0; want->data[i] != NULL && e < want->size[i]; ++e) {
            const double a = got->data[i][e], b = want->data[i][e];
            CHECK_MSG(a == b || (isnan(a) && isnan(b)), "%s: tensor %d: %.17g came back as %.17g",
                      text, i, b, a);
        }
}

/* An oracle's answers are fp64: what a file can hold of them. */
static void round_results(const assay_signature *sig, assay_results *r) {
    for (int32_t o = 0; o < sig->n_out; ++o)
        for (int64_t e = 0; e < r->out.size[o]; ++e)
            r->out.data[o][e] = assay_dtype_round(sig->out[o].dtype, r->out.data[o][e]);
    for (int32_t i = 0; i < sig->n_in; ++i)
        for (int64_t e = 0; r->grad.data[i] != NULL && e < r->grad.size[i]; ++e)
            r->grad.data[i][e] = assay_dtype_round(sig->in[i].dtype, r->grad.data[i][e]);
}

static void check_round_trip(const char *text, const char *path) {
    golden_sample sample;
    assay_problem back;
    assay_results got;
    int32_t taken;
    golden_sample_init(&sample, text);
    assay_results *want = &sample.reference.want;
    round_results(&sample.problem.sig, want);
    REQUIRE_OK(assay_state_write(path, &sample.problem, want));
    REQUIRE_OK(assay_problem_init_empty(&back, &sample.problem.c));
    REQUIRE_OK(assay_state_read(path, &back, &taken));
    check_same(text, &back.in, &sample.problem.in);
    check_same(text, &back.cot, &sample.problem.cot);
    REQUIRE_OK(assay_results_init(&got, &back.sig));
    REQUIRE_OK(assay_state_read_results(path, &sample.problem, &got));
    check_same(text, &got.out, &want->out);
    check_same(text, &got.grad, &want->grad);

    const golden_bytes first = golden_bytes_read(path);
    REQUIRE_OK(assay_state_write(path, &sample.problem, want));
    const golden_bytes second = golden_bytes_read(path);
    CHECK_MSG(golden_bytes_equal(&first, &second), "%s: other bytes the second time", text);
    free(first.data);
    free(second.data);
    assay_results_clear(&got);
    assay_problem_clear(&back);
    golden_sample_clear(&sample);
}

ASSAY_TEST(packed, what_is_written_comes_back, "unit golden") {
    static const char *const cases[] = {
        CASE,
        "cross_entropy t=3 v=5 gradient=1 dtype=f64 fill=huge seed=1",
        "cross_entropy t=4 v=9 dtype=bf16 fill=inf seed=0",
        "attention b=1 h=2 sq=3 d=4 dtype=f16 fill=nan seed=0",
        "embedding t=5 v=3 d=4 dtype=bf16 seed=0",
        "weighted_sum n=none d=6 dtype=f32 pad=3 misalign=1 seed=0",
        "weighted_sum n=3x0 d=6 dtype=f64 seed=0",
        "kronecker b=70 f=8x9 layers=2 dtype=f32 seed=0",
    };
    golden_folder folder;
    char path[PATH];
    golden_folder_init(&folder);
    for (int f = 0; f < ENDS; ++f) {
        name_file(&folder, ends[f], path);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
            check_round_trip(cases[i], path);
        REQUIRE(unlink(path) == 0);
    }
    golden_folder_clear(&folder);
}

/* ---- damage ---- */

static assay_status read_results(const char *path, const char *text) {
    const assay_case c = golden_case(text);
    assay_problem p;
    assay_results got;
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    const assay_status status = assay_state_read_results(path, &p, &got);
    assay_results_clear(&got);
    assay_problem_clear(&p);
    return status;
}

static void write_sample(const char *path, const char *text) {
    golden_sample sample;
    golden_sample_init(&sample, text);
    round_results(&sample.problem.sig, &sample.reference.want);
    REQUIRE_OK(assay_state_write(path, &sample.problem, &sample.reference.want));
    golden_sample_clear(&sample);
}

ASSAY_TEST(packed, a_file_cut_short_is_refused, "unit golden") {
    golden_folder folder;
    char path[PATH];
    golden_folder_init(&folder);
    for (int f = 0; f < ENDS; ++f) {
        name_file(&folder, ends[f], path);
        write_sample(path, CASE);
        REQUIRE_OK(read_results(path, CASE));
        const golden_bytes whole = golden_bytes_read(path);
        for (size_t size = 0; size < whole.size; ++size) {
            golden_bytes_write(path, whole.data, size);
            CHECK_MSG(read_results(path, CASE) == ASSAY_ERR_FILE, "%s of %zu bytes", ends[f], size);
        }
        free(whole.data);
        REQUIRE(unlink(path) == 0);
    }
    golden_folder_clear(&folder);
}

/* A sum of each member's bytes stands beside them. */
ASSAY_TEST(packed, a_changed_byte_of_npz_data_is_seen, "unit golden") {
    golden_folder folder;
    char path[PATH];
    golden_folder_init(&folder);
    name_file(&folder, ".npz", path);
    write_sample(path, CASE);
    const golden_bytes whole = golden_bytes_read(path);
    unsigned char *bytes = whole.data;
    for (size_t i = 0; i + 6 < whole.size; ++i) {
        if (memcmp(bytes + i, "\x93NUMPY", 6) != 0)
            continue;
        bytes[i + 130] ^= 1; /* behind a header of 128 bytes */
        golden_bytes_write(path, bytes, whole.size);
        CHECK_FAILS(read_results(path, CASE), ASSAY_ERR_FILE, "checksum");
        bytes[i + 130] ^= 1;
    }
    free(whole.data);
    REQUIRE(unlink(path) == 0);
    golden_folder_clear(&folder);
}

#define Y    "\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define DX   "\"grad/x\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]}"
#define DW   "\"grad/w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[32,44]}"
#define WIDE "9007199254740991,9007199254740991,9007199254740991" /* 2^53 - 1 each */
#define LONG "a_name_that_is_longer_than_any_tensor's_and_than_what_holds_it"
enum { DATA = 44 };

ASSAY_TEST(packed, a_wrong_safetensors_header_gets_a_line, "unit golden") {
    static const struct {
        const char *header, *line;
    } wrong[] = {
        {"{" Y "," DX "," DW "}", NULL},
        {"{\"__metadata__\":{\"a\":\"b\"}," Y "," DX "," DW "}", NULL},
        {"{" Y "," DX "}", "/grad/w is missing"},
        {"{" DX "," DW "}", "/out/y is missing"},
        {"{" Y "," Y "," DX "," DW "}", "/out/y: is there twice"},
        {"{\"out/z\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
         "no output of that"},
        {"{\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "/y: unknown"},
        {"{\"out/y\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}}", "of type F64"},
        {"{\"out/y\":{\"dtype\":\"\\u001b[2J\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "of type no known type"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", "shape (1, 2)"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}",
         "its shape cannot"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", "its shape cannot"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", "not as much"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}",
         "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[40,48]}}",
         "outside the file"},
        {"{\"out/y\":7}", "its shape cannot"},
        {"{\"out/y\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "of type no known type"},
        {"{\"out/y\":{\"dtype\":\"~F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "of type no known type"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}",
         "its shape cannot"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[1e300],\"data_offsets\":[0,8]}}",
         "its shape cannot"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]}}",
         "its shape cannot"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}",
         "shape of too many axes, and the case has (2)"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":7}}", "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}",
         "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-1,8]}}",
         "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,1e300]}}",
         "outside the file"},
        {"{\"out/y\":{\"dtype\":\"F32\",\"shape\":[" WIDE "," WIDE "," WIDE
         "],\"data_offsets\":[0,8]}}",
         "/out/y: shape (9007199254740991, 9007199254740991, "},
        {"{\"out\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "/out/: this case has no output of that name"},
        {"{\"out/\\u001b[2J\\u007f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "/out/?[2J?: this case has no output of that name"},
        {"{\"out/" LONG LONG LONG LONG LONG "\":{}}", "this case has no output of that name"},
        {"{\"out/y\":", "its header is not JSON"},
    };
    golden_folder folder;
    char path[PATH];
    golden_folder_init(&folder);
    name_file(&folder, ".safetensors", path);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        unsigned char bytes[1024] = {0};
        const size_t length = strlen(wrong[i].header);
        bytes[0] = (unsigned char)(length & 0xff);
        bytes[1] = (unsigned char)(length >> 8);
        memcpy(bytes + 8, wrong[i].header, length);
        golden_bytes_write(path, bytes, 8 + length + DATA);
        if (wrong[i].line == NULL)
            CHECK_MSG(read_results(path, CASE) == ASSAY_OK, "%s: %s", wrong[i].header,
                      assay_error());
        else
            CHECK_FAILS(read_results(path, CASE), ASSAY_ERR_FILE, wrong[i].line);
    }
    static const unsigned char longer[] = "\3\0\0\0\0\0\0\0{}"; /* by one byte than there is */
    golden_bytes_write(path, longer, 10);
    CHECK_FAILS(read_results(path, CASE), ASSAY_ERR_FILE, "its header is longer than the file");
    static const unsigned char longest[64] = {[4] = 1, [8] = '{'}; /* 4 GiB of header */
    golden_bytes_write(path, longest, sizeof longest);
    CHECK_FAILS(read_results(path, CASE), ASSAY_ERR_FILE, "its header is longer than the file");
    REQUIRE(unlink(path) == 0);
    golden_folder_clear(&folder);
}

/* HDF5 and NumPy have no bf16: programs store it as fp32, which must then be values of it. */
ASSAY_TEST(packed, small_types_may_come_as_fp32, "unit golden") {
    static const struct {
        const char *dtype, *type, *line;
        float value;
    } given[] = {
        {"bf16", "F32", NULL, 0.5F},
        {"f16", "F32", NULL, 0.5F},
        {"f32", "F32", NULL, 0.1F},
        {"bf16", "F32", "is not a value of the case's dtype", 0.1F},
        {"bf16", "I32", "of type I32, and the case has bf16", 0.5F},
        {"f16", "I32", "of type I32, and the case has f16", 0.5F},
        {"f64", "F32", "of type F32, and the case has f64", 0.5F},
    };
    golden_folder folder;
    char path[PATH], text[128];
    golden_folder_init(&folder);
    name_file(&folder, ".safetensors", path);
    for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
        unsigned char bytes[256] = {0};
        const float x[3] = {1, given[i].value, 2};
        assay_problem p;
        int32_t taken;
        const int length = snprintf(
            (char *)bytes + 8, sizeof bytes - 8,
            "{\"in/x\":{\"dtype\":\"%s\",\"shape\":[1,3],\"data_offsets\":[0,12]}}", given[i].type);
        bytes[0] = (unsigned char)length;
        memcpy(bytes + 8 + length, x, sizeof x);
        golden_bytes_write(path, bytes, 8 + (size_t)length + sizeof x);
        snprintf(text, sizeof text, "softmax n=1 d=3 dtype=%s seed=5", given[i].dtype);
        const assay_case c = golden_case(text);
        REQUIRE_OK(assay_problem_init(&p, &c));
        if (given[i].line == NULL) {
            REQUIRE_OK(assay_state_read(path, &p, &taken));
            CHECK(taken == 1 && p.in.data[0][1] == (double)given[i].value);
        } else {
            CHECK_FAILS(assay_state_read(path, &p, &taken), ASSAY_ERR_FILE, given[i].line);
        }
        assay_problem_clear(&p);
    }
    golden_folder_clear(&folder);
}
