/* RFC 4180: lines end in CR LF. A line for each row, failed ones too; fields without a measurement
 * are empty. Times are microseconds. */
#include "bench/report/escape.h"
#include "bench/report/writers.h"

#include <inttypes.h>
#include <math.h>

static void put_text(FILE *to, const char *text) {
    putc(',', to);
    escape_csv(to, text);
}

static void put_number(FILE *to, double value) {
    putc(',', to);
    if (!isnan(value))
        fprintf(to, "%.17g", value);
}

/* 0 is unknown. */
static void put_bytes(FILE *to, int64_t bytes) {
    putc(',', to);
    if (bytes > 0)
        fprintf(to, "%" PRId64, bytes);
}

static void put_row(FILE *to, const view *v, const view_section *section, const view_row *it) {
    const bench_row *row = it->row;
    const bench_summary *time = &it->derived.time;
    escape_csv(to, row->experiment);
    put_text(to, section->op);
    put_text(to, row->case_text);
    put_text(to, bench_stage_name(row->stage));
    put_text(to, bench_cache_name(row->cache));
    put_text(to, row->arm);
    put_text(to, row->label);
    put_text(to, row->ours ? "yes" : "no");
    put_text(to, bench_status_name(row->status));
    fprintf(to, ",%" PRId64, time->count);
    put_number(to, time->median);
    put_number(to, time->p10);
    put_number(to, time->p90);
    put_number(to, time->mean);
    put_number(to, time->deviation);
    put_number(to, time->least);
    put_number(to, time->most);
    put_number(to, row->wall);
    put_number(to, row->customary);
    put_number(to, it->versus.ratio);
    put_number(to, it->versus.low);
    put_number(to, it->versus.high);
    put_text(to, isnan(it->versus.ratio) ? "" : bench_verdict_name(it->versus.verdict));
    put_number(to, row->bytes);
    put_number(to, row->flops);
    put_number(to, row->floor);
    put_number(to, it->derived.gbps);
    put_number(to, it->derived.tflops);
    put_number(to, it->derived.share);
    put_number(to, row->status == BENCH_OK ? row->ratio : (double)NAN);
    put_text(to, row->worst_tensor);
    fprintf(to, ",%" PRId32, row->verified);
    put_bytes(to, row->peak_bytes);
    put_bytes(to, row->before_backward_bytes);
    put_text(to, v->results->environment.device);
    put_text(to, v->results->environment.simulated ? "yes" : "no");
    put_text(to, row->versions);
    put_text(to, row->reason);
    put_text(to, row->repro);
    fputs("\r\n", to);
}

void report_csv(FILE *to, const report *r) {
    const view *v = &r->v;
    fputs(
        "experiment,op,case,stage,cache,arm,label,ours,status,samples,median_us,p10_us,p90_us,"
        "mean_us,std_us,least_us,most_us,wall_us,customary_us,speedup,speedup_low,speedup_high,verdict,bytes,"
        "flops,floor_us,gbps,tflops,share_of_floor,error_over_bound,worst_tensor,verified,"
        "peak_bytes,before_backward_bytes,device,simulated,versions,reason,repro\r\n",
        to);
    for (int64_t s = 0; s < v->n_sections; ++s) {
        const view_section *section = &v->section[s];
        for (int64_t g = 0; g < section->count; ++g)
            for (int64_t i = 0; i < section->group[g].count; ++i)
                put_row(to, v, section, &section->group[g].row[i]);
    }
}
