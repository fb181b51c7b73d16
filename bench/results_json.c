#include "bench/results_json.h"

#include "bench/derived.h"
#include "core/json.h"

#include <inttypes.h>
#include <math.h>

static void put_text(FILE *to, const char *key, const char *text) {
    fprintf(to, ", \"%s\": ", key);
    json_string(to, text);
}

static void put_value(FILE *to, double value) {
    if (isnan(value))
        fputs("null", to);
    else
        json_number(to, value);
}

static void put_number(FILE *to, const char *key, double value) {
    fprintf(to, ", \"%s\": ", key);
    put_value(to, value);
}

static void put_numbers(FILE *to, const char *key, const double *value, int64_t count) {
    fprintf(to, ", \"%s\": [", key);
    for (int64_t i = 0; i < count; ++i) {
        fputs(i > 0 ? ", " : "", to);
        put_value(to, value[i]);
    }
    putc(']', to);
}

static void put_environment(FILE *to, const bench_environment *e) {
    fputs("{\"date\": ", to);
    json_string(to, e->date);
    put_text(to, "device", e->device);
    fprintf(to, ", \"simulated\": %s", e->simulated ? "true" : "false");
    put_text(to, "cpu", e->cpu);
    put_text(to, "os", e->os);
    put_text(to, "blas", e->blas);
    put_text(to, "compiler", e->compiler);
    put_text(to, "commit", e->commit);
    put_text(to, "command", e->command);
    put_numbers(to, "sm_clock_mhz", e->sm_clock_mhz, 3);
    put_numbers(to, "power_watt", e->power_watt, 3);
    put_number(to, "copy_bytes_per_second", e->copy_bytes);
    put_number(to, "timer_noise", e->noise);
    put_number(to, "timer_known_us", e->known);
    put_number(to, "timer_measured_us", e->measured);
    putc('}', to);
}

static assay_status put_row(FILE *to, const bench_row *row) {
    bench_derived derived;
    const assay_status status = bench_derive(row, &derived);
    fputs("{\"experiment\": ", to);
    json_string(to, row->experiment);
    put_text(to, "case", row->case_text);
    put_text(to, "arm", row->arm);
    put_text(to, "label", row->label);
    fprintf(to, ", \"ours\": %s", row->ours ? "true" : "false");
    put_text(to, "stage", bench_stage_name(row->stage));
    put_text(to, "cache", bench_cache_name(row->cache));
    put_text(to, "status", bench_status_name(row->status));
    put_text(to, "reason", row->reason);
    put_number(to, "median_us", derived.time.median);
    put_number(to, "p10_us", derived.time.p10);
    put_number(to, "p90_us", derived.time.p90);
    put_number(to, "mean_us", derived.time.mean);
    put_number(to, "std_us", derived.time.deviation);
    put_number(to, "gbps", derived.gbps);
    put_number(to, "tflops", derived.tflops);
    put_number(to, "share_of_floor", derived.share);
    put_number(to, "wall_us", row->wall);
    put_number(to, "customary_us", row->customary);
    put_number(to, "floor_us", row->floor);
    put_number(to, "bytes", row->bytes);
    put_number(to, "flops", row->flops);
    put_number(to, "error_over_bound", row->ratio);
    put_text(to, "worst_tensor", row->worst_tensor);
    fprintf(to, ", \"verified\": %" PRId32, row->verified);
    fprintf(to, ", \"peak_bytes\": %" PRId64, row->peak_bytes);
    fprintf(to, ", \"before_backward_bytes\": %" PRId64, row->before_backward_bytes);
    put_text(to, "versions", row->versions);
    put_text(to, "repro", row->repro);
    put_numbers(to, "samples_us", row->sample, row->n_samples);
    putc('}', to);
    return status;
}

assay_status bench_results_write(FILE *to, const bench_results *results) {
    fputs("{\"format\": \"assay bench\", \"assay\": ", to);
    json_string(to, results->environment.version);
    put_number(to, "seconds", results->seconds);
    fputs(",\n\"environment\": ", to);
    put_environment(to, &results->environment);
    fputs(",\n\"rows\": [", to);
    for (int64_t i = 0; i < results->count; ++i) {
        fputs(i > 0 ? ",\n" : "\n", to);
        const assay_status status = put_row(to, &results->row[i]);
        if (status != ASSAY_OK)
            return status;
    }
    fputs("\n]}\n", to);
    return ASSAY_OK;
}
