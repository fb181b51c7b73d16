/* A profile on the simulated device: one counted call of each stage. */
#include "bench/profile/around.h"
#include "cli/profile_counts.h"

/* Counts the launches of one call. */
static assay_status count_stage(assay_stage which, profile_stage stage, const assay_call *call,
                                void *context) {
    profile_counts *counts = context;
    sim_count_begin();
    assay_status status = stage(call);
    sim_count_end();
    for (int32_t l = 0; status == ASSAY_OK && l < sim_count_launches(); ++l)
        status = counts_add(counts, which, sim_count_at(l));
    return status;
}

static assay_status print(const profile *p, const profile_counts *counts) {
    FILE *to = p->args->out.stream;
    char title[PROFILE_TITLE], about[ASSAY_DEVICE_TEXT];
    fprintf(to, "%s\n", profile_title(p, title));
    if (p->device->probe(about) == ASSAY_OK)
        fprintf(to, "%s; counts of one call, no times: docs/profile.md\n", about);
    assay_status status = counts_text(to, p, counts, ASSAY_FORWARD);
    if (status == ASSAY_OK && p->c.op->backward != NULL)
        status = counts_text(to, p, counts, ASSAY_BACKWARD);
    return status;
}

static void write_files(const profile *p, const profile_counts *counts) {
    if (p->csv.stream != NULL)
        counts_csv(p->csv.stream, counts);
    if (p->json.stream != NULL)
        counts_json(p->json.stream, p, counts);
    if (p->trace.stream != NULL)
        counts_trace(p->trace.stream, p, counts);
}

assay_status profile_sim(const profile *p) {
    profile_counts counts = {0};
    const assay_variant counted = profile_wrap(p->variant, count_stage, &counts);
    assay_status status = profile_run(p, &counted);
    if (status == ASSAY_OK)
        status = print(p, &counts);
    if (status == ASSAY_OK)
        write_files(p, &counts);
    counts_clear(&counts);
    return status;
}
