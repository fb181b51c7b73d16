/* A profile on the GPU: calls that wait, one that warms up, then those that CUPTI records. */
#include "bench/profile/around.h"
#include "bench/profile/record_trace.h"
#include "bench/profile/table_text.h"
#include "cli/profile.h"
#include "core/json.h"
#include "device/module.h"

#include <string.h>

enum { WAIT = 3, WARM_UP = 1, ACTIVE = 4, FUNCTIONS = 1024 };

static const profile_recorder *recorder;

assay_status profile_cuda_before(void) {
    void *symbol;
    const assay_status status =
        assay_module_load("libassay_profile.so", PROFILE_RECORDER_ENTRY, &symbol);
    if (status == ASSAY_ERR_UNSUPPORTED)
        return assay_fail(status, "profile on cuda needs CUPTI: libassay_profile.so is not built; "
                                  "install the CUDA toolkit's cuda-cupti-dev and configure again");
    if (status != ASSAY_OK)
        return status;
    profile_recorder_entry entry;
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object to a function */
    recorder = entry();
    return ASSAY_OK;
}

/* ---- the calls ---- */

typedef struct recording {
    const assay_device *device;
    profile_records records;
    assay_stage stage; /* that runs */
} recording;

static assay_status take_record(const profile_record *record, void *context) {
    recording *to = context;
    profile_record mine = *record;
    mine.stage = to->stage;
    return records_add(&to->records, &mine);
}

static assay_status call_and_wait(profile_stage stage, const assay_call *call, int32_t times,
                                  const assay_device *device) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < times; ++i)
        status = stage(call);
    const assay_status finished = device->finish();
    return status == ASSAY_OK ? finished : status;
}

/* The calls that count, each with a record of its own, and what CUPTI saw of them. */
static assay_status call_active(recording *to, profile_stage stage, const assay_call *call) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < ACTIVE; ++i) {
        profile_record own = {.kind = PROFILE_CALL, .stage = to->stage, .start = recorder->now()};
        status = stage(call);
        own.end = recorder->now();
        snprintf(own.name, sizeof own.name, "%s %d", assay_stage_name(to->stage), i + 1);
        if (status == ASSAY_OK)
            status = records_add(&to->records, &own);
    }
    const assay_status finished = to->device->finish();
    if (status == ASSAY_OK)
        status = finished;
    return status == ASSAY_OK ? recorder->take(take_record, to) : status;
}

static assay_status record_stage(assay_stage which, profile_stage stage, const assay_call *call,
                                 void *context) {
    recording *to = context;
    to->stage = which;
    assay_status status = call_and_wait(stage, call, WAIT, to->device);
    if (status != ASSAY_OK)
        return status;
    status = recorder->start();
    if (status == ASSAY_OK)
        status = call_and_wait(stage, call, WARM_UP, to->device);
    if (status == ASSAY_OK)
        status = recorder->take(NULL, NULL);
    if (status == ASSAY_OK)
        status = call_active(to, stage, call);
    recorder->stop();
    return status;
}

/* ---- after ---- */

typedef struct outcome {
    profile_table table[ASSAY_STAGES];
    assay_work work[ASSAY_STAGES];
    profile_limits limits;
    int32_t stages; /* of them */
} outcome;

static assay_status sum_up(const profile *p, const recording *r, outcome *o) {
    assay_status status = recorder->limits(&o->limits);
    o->stages = p->c.op->backward != NULL ? ASSAY_STAGES : 1;
    for (int s = 0; status == ASSAY_OK && s < o->stages; ++s) {
        status = table_make(&r->records, (assay_stage)s, &o->table[s]);
        if (status == ASSAY_OK)
            status = assay_op_work(p->c.op, &p->c.params, (assay_stage)s, &o->work[s]);
    }
    return status;
}

static assay_status print(const profile *p, const outcome *o) {
    FILE *to = p->args->out.stream;
    char title[PROFILE_TITLE], about[ASSAY_DEVICE_TEXT], functions[FUNCTIONS] = "";
    fprintf(to, "%s\n", profile_title(p, title));
    if (p->device->probe(about) == ASSAY_OK)
        fprintf(to, "%s; %d calls of each stage, after %d that wait and %d that warms up\n", about,
                ACTIVE, WAIT, WARM_UP);
    assay_status status = ASSAY_OK;
    for (int s = 0; status == ASSAY_OK && s < o->stages; ++s) {
        status = table_text(to, &o->table[s], (assay_stage)s, ACTIVE, &o->work[s], &o->limits);
        table_functions(&o->table[s], functions, sizeof functions);
    }
    fprintf(to,
            "\nWithin a kernel: ncu --set full --kernel-name 'regex:^(%s)$' -o profile assay run "
            "%s/%s%s --device cuda --out profile.h5\n",
            functions, p->c.op->name, p->variant->name, p->text + strcspn(p->text, " "));
    return status;
}

static void write_json(FILE *to, const profile *p, const outcome *o) {
    fputs("{\n  \"case\": ", to);
    json_string(to, p->text);
    fputs(",\n  \"variant\": ", to);
    json_string(to, p->variant->name);
    fprintf(to, ",\n  \"device\": \"%s\",\n  \"stages\": [\n", p->device->name);
    for (int s = 0; s < o->stages; ++s) {
        fputs(s > 0 ? ",\n" : "", to);
        table_json(to, &o->table[s], (assay_stage)s, ACTIVE, &o->work[s], &o->limits);
    }
    fputs("\n  ]\n}\n", to);
}

static assay_status write_files(const profile *p, const recording *r, const outcome *o) {
    char title[PROFILE_TITLE];
    if (p->json.stream != NULL)
        write_json(p->json.stream, p, o);
    if (p->csv.stream != NULL)
        table_csv_head(p->csv.stream);
    for (int s = 0; p->csv.stream != NULL && s < o->stages; ++s)
        table_csv(p->csv.stream, &o->table[s], (assay_stage)s, &o->limits);
    if (p->trace.stream == NULL)
        return ASSAY_OK;
    return records_trace(p->trace.stream, profile_title(p, title), &r->records);
}

assay_status profile_cuda(const profile *p) {
    recording r = {.device = p->device};
    outcome o = {.stages = 0};
    const assay_variant recorded = profile_wrap(p->variant, record_stage, &r);
    assay_status status = profile_run(p, &recorded);
    if (status == ASSAY_OK)
        status = sum_up(p, &r, &o);
    if (status == ASSAY_OK)
        status = print(p, &o);
    if (status == ASSAY_OK)
        status = write_files(p, &r, &o);
    for (int s = 0; s < ASSAY_STAGES; ++s)
        table_clear(&o.table[s]);
    records_clear(&r.records);
    return status;
}
