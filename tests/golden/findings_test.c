/* Findings: their texts and tensors, and in each format each of them is read as a state file, or
 * gets one line where it is not there. */
#include "assay/state.h"
#include "golden/findings.h"
#include "golden/writer.h"
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
static assay_finding_record record_of(int i, const golden_sample *sample) {
    return (assay_finding_record){.variant = "v1",
                                  .device = "sim",
                                  .kind = "wrong",
                                  .relation = i == 0 ? "adjoint" : "",
                                  .tensor = "y",
                                  .reason = "a \"line\"\n\xc3\xa9",
                                  .found = cases[1 - i],
                                  .problem = &sample->problem,
                                  .got = i == 0 ? &sample->reference.want : NULL,
                                  .reference = &sample->reference};
}

static void write_findings(const char *path, golden_sample *sample) {
    tensor_writer w;
    REQUIRE_OK(writer_begin(&w, path));
    for (int i = 0; i < CASES; ++i) {
        const assay_finding_record record = record_of(i, &sample[i]);
        REQUIRE_OK(assay_findings_add(&w, i + 1, &record));
    }
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

/* ---- the parts of a finding ---- */

/* A format that only notes: "group/name=text" or "group/name dtype", and where a tensor's data are.
 */
typedef struct notes {
    char text[4096];
    const double *data[16];
    int n;
} notes;

static assay_status note_text(tensor_writer *w, const char *group, const char *name,
                              const char *text) {
    notes *to = w->state;
    const size_t at = strlen(to->text);
    snprintf(to->text + at, sizeof to->text - at, "%s/%s=%s;", group, name, text);
    return ASSAY_OK;
}

static assay_status note_tensor(tensor_writer *w, const tensor_item *item) {
    notes *to = w->state;
    const size_t at = strlen(to->text);
    REQUIRE(to->n < 16);
    snprintf(to->text + at, sizeof to->text - at, "%s/%s %s;", item->group, item->spec.name,
             assay_dtype_name(item->spec.dtype));
    to->data[to->n++] = item->data;
    return ASSAY_OK;
}

ASSAY_TEST(findings, have_these_parts, "unit golden") {
    const writer_format format = {.put_text = note_text, .put_tensor = note_tensor};
    notes seen = {0};
    tensor_writer w = {.format = &format, .state = &seen};
    golden_sample sample;
    make_sample(&sample, cases[0]);
    assay_finding_record record = record_of(0, &sample);
    REQUIRE_OK(assay_findings_add(&w, 17, &record));
    CHECK_STREQ(seen.text, "0017/case=weighted_sum n=2 d=3 dtype=bf16 seed=5;0017/variant=v1;"
                           "0017/device=sim;0017/kind=wrong;0017/relation=adjoint;0017/tensor=y;"
                           "0017/reason=a \"line\"\n\xc3\xa9;"
                           "0017/found=cross_entropy t=3 v=5 gradient=1 dtype=f32 seed=2;"
                           "0017/in/x bf16;0017/in/w bf16;0017/cot/y bf16;"
                           "0017/out/y bf16;0017/grad/x bf16;0017/grad/w bf16;"
                           "0017/want_out/y f64;0017/want_grad/x f64;0017/want_grad/w f64;"
                           "0017/bound_out/y f64;0017/bound_grad/x f64;0017/bound_grad/w f64;");
    const assay_problem *p = &sample.problem;
    const assay_reference *r = &sample.reference;
    const double *const data[] = {p->in.data[0],
                                  p->in.data[1],
                                  p->cot.data[0],
                                  r->want.out.data[0],
                                  r->want.grad.data[0],
                                  r->want.grad.data[1],
                                  r->want.out.data[0],
                                  r->want.grad.data[0],
                                  r->want.grad.data[1],
                                  r->out_bound.element.data[0],
                                  r->grad_bound.element.data[0],
                                  r->grad_bound.element.data[1]};
    enum { TENSORS = sizeof data / sizeof *data };
    REQUIRE(seen.n == TENSORS);
    for (int i = 0; i < TENSORS; ++i)
        CHECK_MSG(seen.data[i] == data[i], "tensor %d has another one's data", i);
    seen = (notes){0};
    record.reference = NULL;
    record.got = NULL;
    REQUIRE_OK(assay_findings_add(&w, 17, &record));
    CHECK(seen.n == 3 && strstr(seen.text, "want_out") == NULL);
    golden_sample_clear(&sample);
}

/* ---- in each format ---- */

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
