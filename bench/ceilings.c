#include "bench/ceilings.h"

#include <math.h>
#include <string.h>

/*
 * Data sheets: NVIDIA H200 (2024), H100 SXM (2023), A100 80GB SXM (2021). The rates are those of
 * the boost clock that the sheets assume; parts clock up to a tenth higher, so that a floor takes
 * as much off.
 */
static const double clock_reserve = 1.1;

static const struct {
    const char *name;
    bench_ceilings ceilings;
} devices[] = {
    {"H200",
     {4.8e12,
      60 * 0x1p20,
      {[ASSAY_F64] = 67e12, [ASSAY_F32] = 67e12, [ASSAY_BF16] = 989e12, [ASSAY_F16] = 989e12},
      495e12}},
    {"H100",
     {3.35e12,
      60 * 0x1p20,
      {[ASSAY_F64] = 67e12, [ASSAY_F32] = 67e12, [ASSAY_BF16] = 989e12, [ASSAY_F16] = 989e12},
      495e12}},
    {"A100",
     {2.04e12,
      40 * 0x1p20,
      {[ASSAY_F64] = 19.5e12, [ASSAY_F32] = 19.5e12, [ASSAY_BF16] = 312e12, [ASSAY_F16] = 312e12},
      156e12}},
};

bench_ceilings bench_ceilings_of(const char *device_text) {
    for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i)
        if (strstr(device_text, devices[i].name))
            return devices[i].ceilings;
    return (bench_ceilings){NAN, NAN, {NAN, NAN, NAN, NAN}, NAN};
}

double bench_floor(const bench_ceilings *ceilings, const assay_params *params,
                   const assay_work *work) {
    const double rate =
        params->dtype == ASSAY_F32 ? ceilings->tf32 : ceilings->flops[params->dtype];
    const double leaves = fmax(0, work->written - ceilings->cache_bytes);
    const double memory = (work->read + leaves) / (ceilings->bytes * clock_reserve);
    const double arithmetic = work->least / (rate * clock_reserve);
    return isnan(ceilings->bytes) ? NAN : 1e6 * fmax(memory, arithmetic);
}
