#include "cli/fuzz.h"
#include "cli/text_file.h"
#include "core/sink.h"
#include "engine/runner.h"
#include "engine/sample.h"
#include "engine/variant_run.h"
#include "fuzz/search/corpus.h"
#include "fuzz/search/journal.h"
#include "golden/findings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No campaign's state is longer. */
enum { MOST = 64 << 20 };

/* ---- before ---- */

static assay_status try_corpus(const char *folder) {
    struct stat info;
    if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && access(folder, W_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: is not a folder that can be written to", folder);
}

assay_status fuzz_files_try(const fuzz_campaign *f) {
    const assay_cli_args *args = f->args;
    assay_status status = ASSAY_OK;
    if (args->findings != NULL) {
        tensor_writer file;
        status = writer_begin(&file, args->findings);
        if (status == ASSAY_OK)
            writer_clear(&file);
    }
    if (status == ASSAY_OK && args->corpus != NULL)
        status = try_corpus(args->corpus);
    if (status == ASSAY_OK && f->resume[0] != '\0') {
        cli_sink sink;
        status = sink_open(&sink, f->resume);
        if (status == ASSAY_OK)
            sink_discard(&sink);
    }
    return status;
}

/* ---- the state ---- */

assay_status fuzz_state_read(fuzz_campaign *f, const char *path, const char *about,
                             fuzz_state *state) {
    char *text;
    size_t size;
    assay_status status = text_file_read(path, "state of a campaign", MOST, &text, &size);
    if (text != NULL)
        status = fuzz_journal_parse(state, about, f->cases.n_selections, path, text, size);
    free(text);
    return status;
}

assay_status fuzz_state_write(const fuzz_campaign *f, int64_t shard, const char *path,
                              const fuzz_state *state) {
    char about[FUZZ_ABOUT], *text;
    size_t size;
    fuzz_describe(f, shard, about);
    assay_status status = fuzz_journal_format(state, about, &text, &size);
    if (status != ASSAY_OK)
        return status;
    status = text_file_write(path, text, size);
    free(text);
    return status;
}

/* ---- findings ---- */

/* One more run gives the variant's tensors; not of what ended its process. A finding without them
 * is still one. */
static assay_status run_again(const fuzz_campaign *f, const fuzz_finding *finding,
                              const assay_device *device, const assay_problem *p,
                              assay_results *got, bool *ran) {
    const assay_variant *variant = variant_find(device, p->c.op->name, finding->failure.variant);
    const fuzz_kind kind = finding->failure.kind;
    *ran = false;
    if (variant == NULL || (kind != FUZZ_WRONG && kind != FUZZ_UNEQUAL))
        return ASSAY_OK;
    const assay_status status = sample_results(p, got);
    if (status != ASSAY_OK)
        return status;
    *ran = assay_run(variant, device, p, got) == ASSAY_OK;
    if (!*ran)
        fprintf(f->args->out.stream, "%s: %s: without the variant's tensors: %s\n",
                f->args->findings, finding->shrunk, assay_error());
    return ASSAY_OK;
}

/* The case's data; of one that few rows make up, theirs. */
static assay_status load(const fuzz_campaign *f, const assay_device *device,
                         const fuzz_finding *finding, sample *s, assay_problem *p) {
    const char *variant = finding->failure.variant;
    assay_case c;
    variant_runs t;
    assay_status status = assay_case_parse(finding->shrunk, &c);
    if (status != ASSAY_OK)
        return status;
    scope_apply(f->args->scope, &c);
    if (f->rows == 0)
        return assay_problem_load(p, &c);
    status = variant_runs_init(&t, device, c.op->name, &variant, 1);
    if (status != ASSAY_OK)
        return status;
    status = sample_init(s, &c, f->rows, &t);
    variant_runs_clear(&t);
    return status == ASSAY_OK ? sample_problem(s, p) : status;
}

static assay_status add_finding(const fuzz_campaign *f, tensor_writer *file, int32_t number,
                                const fuzz_finding *finding, const assay_device *device) {
    sample s = {0};
    assay_problem p = {0};
    assay_results got = {0};
    assay_reference ref = {0};
    bool ran = false;
    assay_status status = load(f, device, finding, &s, &p);
    if (status == ASSAY_OK)
        status = run_again(f, finding, device, &p, &got, &ran);
    if (status == ASSAY_OK)
        status = assay_reference_init(&ref, &p);
    if (status == ASSAY_OK && ran)
        sample_choose_worst(&p, &got, &ref.want);
    if (status == ASSAY_OK)
        status = assay_findings_add(file, number,
                                    &(assay_finding_record){
                                        .variant = finding->failure.variant,
                                        .device = device->name,
                                        .kind = fuzz_kind_name(finding->failure.kind),
                                        .relation = finding->failure.relation,
                                        .tensor = finding->failure.tensor,
                                        .reason = finding->failure.reason,
                                        .found = finding->found,
                                        .problem = &p,
                                        .got = ran ? &got : NULL,
                                        .reference = &ref,
                                    });
    assay_reference_clear(&ref);
    assay_results_clear(&got);
    assay_problem_clear(&p);
    sample_clear(&s);
    return status;
}

static assay_status write_file(const fuzz_campaign *f, const fuzz_findings *findings) {
    const assay_device *base, *device = NULL;
    tensor_writer file = {0};
    assay_status status = assay_device_open(f->device, &base);
    if (status == ASSAY_OK)
        status = assay_isolate(base, &f->how, &device);
    if (status == ASSAY_OK)
        status = writer_begin(&file, f->args->findings);
    for (int32_t i = 0; status == ASSAY_OK && i < findings->count; ++i)
        status = add_finding(f, &file, i + 1, &findings->finding[i], device);
    if (status == ASSAY_OK)
        status = writer_commit(&file);
    writer_clear(&file);
    assay_isolate_end(device);
    return status;
}

static assay_status add_to_corpus(const fuzz_campaign *f, const fuzz_finding *finding) {
    assay_case c;
    char why[ASSAY_REASON + 128];
    snprintf(why, sizeof why, "%s %s/%s%s%s: %s", fuzz_kind_name(finding->failure.kind),
             f->target[finding->target].op->name, finding->failure.variant,
             finding->failure.relation[0] != '\0' ? " " : "", finding->failure.relation,
             finding->failure.reason);
    const assay_status status = assay_case_parse(finding->shrunk, &c);
    return status == ASSAY_OK ? fuzz_corpus_add(f->args->corpus, &c, why) : status;
}

assay_status fuzz_findings_write(const fuzz_campaign *f, const fuzz_findings *findings) {
    assay_status status = ASSAY_OK;
    if (f->args->findings != NULL)
        status = write_file(f, findings);
    for (int32_t i = 0; status == ASSAY_OK && f->args->corpus != NULL && i < findings->count; ++i)
        if (findings->finding[i].again) /* its case does not fail by itself otherwise */
            status = add_to_corpus(f, &findings->finding[i]);
    return status;
}
