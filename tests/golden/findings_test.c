/* Findings in each format: what is written is read as a state file, finding by finding, and a file
 * without it gets one line. */
#include "assay/state.h"
#include "golden/findings.h"
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const ends[] = {".h5", ".npz", ".safetensors"};
static const char *const cases[] = {"weighted_sum n=2 d=3 dtype=bf16 seed=5",
                                    "cross_entropy t=3 v=5 gradient=1 dtype=f32 seed=2"};
enum { ENDS = 3, CASES = 2, PATH = GOLDEN_TEST_PATH + 64 };

static void round_arrays(const assay_tensor_spec *specs, assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] != NULL && e < arrays->size[i]; ++e)
            arrays->data[i][e] = assay_dtype_round(specs[i].dtype, arrays->data[i][e]);
}

static void make_sample(golden_sample *sample, const char *text) {
    golden_sample_init(sample, text);
    round_arrays(sample->problem.sig.out, &sample->reference.want.out);
    round_arrays(sample->problem.sig.in, &sample->reference.want.grad);
}

/* The second one has no tensors of the variant's. */
static void write_findings(const char *path, golden_sample *sample) {
    tensor_writer w;
    REQUIRE_OK(writer_begin(&w, path));
    for (int i = 0; i < CASES; ++i)
        REQUIRE_OK(assay_findings_add(
            &w, i + 1,
            &(assay_finding_record){.variant = "v1",
                                    .device = "sim",
                                    .kind = "wrong",
                                    .relation = "",
                                    .tensor = "y",
                                    .reason = "a \"line\"\n\xc3\xa9",
                                    .found = cases[i],
                                    .problem = &sample[i].problem,
                                    .got = i == 0 ? &sample[i].reference.want : NULL,
                                    .reference = &sample[i].reference}));
    REQUIRE_OK(writer_commit(&w));
}

static void check_same(const char *path, const assay_arrays *got, const assay_arrays *want) {
    for (int32_t i = 0; i < want->count; ++i)
        if (want->data[i] != NULL)
            CHECK_MSG(memcmp(got->data[i], want->data[i],
                             (size_t)want->size[i] * sizeof *want->data[i]) == 0,
                      "%s: tensor %d came back as something else", path, i);
}

static void check_inputs(const char *path, const assay_problem *want) {
    assay_problem back;
    int32_t taken;
    REQUIRE_OK(assay_problem_init_empty(&back, &want->c));
    REQUIRE_OK(assay_state_read(path, &back, &taken));
    check_same(path, &back.in, &want->in);
    check_same(path, &back.cot, &want->cot);
    assay_problem_clear(&back);
}

static assay_status read_results(const char *path, const golden_sample *want, bool compare) {
    assay_results got;
    REQUIRE_OK(assay_results_init(&got, &want->problem.sig));
    const assay_status status = assay_state_read_results(path, &want->problem, &got);
    if (compare) {
        check_same(path, &got.out, &want->reference.want.out);
        check_same(path, &got.grad, &want->reference.want.grad);
    }
    assay_results_clear(&got);
    return status;
}

static void check_refusals(const char *file, golden_sample *sample) {
    char path[PATH + 16];
    assay_problem *p = &sample[0].problem;
    int32_t taken;
    CHECK_FAILS(assay_state_read(file, p, &taken), ASSAY_ERR_FILE, ":1 names the first one");
    snprintf(path, sizeof path, "%s:3", file);
    CHECK_FAILS(assay_state_read(path, p, &taken), ASSAY_ERR_FILE, "has no finding 0003");
    CHECK_FAILS(read_results(path, &sample[0], false), ASSAY_ERR_FILE, "has no finding 0003");
    snprintf(path, sizeof path, "%s:2", file);
    CHECK_FAILS(assay_state_read(path, p, &taken), ASSAY_ERR_FILE, "this case has no");
    CHECK_FAILS(read_results(path, &sample[1], false), ASSAY_ERR_FILE, "every output is judged");
    snprintf(path, sizeof path, "%s:0", file);
    CHECK_FAILS(assay_state_read(path, p, &taken), ASSAY_ERR_FILE, "No such file");
}

ASSAY_TEST(findings, are_read_as_state_files, "unit golden") {
    golden_sample sample[CASES];
    golden_folder folder;
    char file[PATH], path[PATH + 16];
    golden_folder_init(&folder);
    for (int i = 0; i < CASES; ++i)
        make_sample(&sample[i], cases[i]);
    for (int f = 0; f < ENDS; ++f) {
        snprintf(file, sizeof file, "%s%s", folder.file, ends[f]);
        write_findings(file, sample);
        const golden_bytes first = golden_bytes_read(file);
        for (int i = 0; i < CASES; ++i) {
            snprintf(path, sizeof path, "%s:%d", file, i + 1);
            check_inputs(path, &sample[i].problem);
        }
        snprintf(path, sizeof path, "%s:1", file);
        REQUIRE_OK(read_results(path, &sample[0], true));
        check_refusals(file, sample);
        golden_sample_clear(&sample[0]); /* a refused file may have replaced a part of its data */
        make_sample(&sample[0], cases[0]);
        write_findings(file, sample);
        const golden_bytes second = golden_bytes_read(file);
        CHECK_MSG(golden_bytes_equal(&first, &second), "%s: other bytes the second time", ends[f]);
        free(first.data);
        free(second.data);
        REQUIRE(unlink(file) == 0);
    }
    for (int i = 0; i < CASES; ++i)
        golden_sample_clear(&sample[i]);
    CHECK_MSG(golden_folder_count(&folder) == 0, "files are left");
    golden_folder_clear(&folder);
}
