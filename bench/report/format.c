#include "bench/report/format.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const format_simulated =
    "Simulated: a kernel's times are those of a simulation on the host, not a measurement.";

const char *format_fixed(double value, int decimals, char out[FORMAT_NUMBER]) {
    char plain[FORMAT_NUMBER];
    if (!isfinite(value) || fabs(value) >= 1e18) {
        strcpy(out, "-");
        return out;
    }
    snprintf(plain, sizeof plain, "%.*f", decimals, value);
    const size_t sign = plain[0] == '-', digits = strspn(plain + sign, "0123456789");
    size_t length = 0;
    for (size_t i = 0; plain[i] != '\0'; ++i) {
        if (i > sign && i < sign + digits && (sign + digits - i) % 3 == 0)
            out[length++] = ',';
        out[length++] = plain[i];
    }
    out[length] = '\0';
    return out;
}

int format_decimals(double least) {
    return least < 1 ? 3 : least < 10 ? 2 : least < 100 ? 1 : 0;
}

const char *format_short(double value, char out[FORMAT_NUMBER]) {
    const double size = fabs(value);
    if (size > 0 && (size < 0.01 || size >= 1e7) && isfinite(value)) {
        snprintf(out, FORMAT_NUMBER, "%.2e", value);
        return out;
    }
    return format_fixed(value, size == 0 ? 0 : format_decimals(size), out);
}

const char *format_bytes(double bytes, char out[FORMAT_NUMBER]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char number[FORMAT_NUMBER];
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; ++unit)
        bytes /= 1024;
    snprintf(out, FORMAT_NUMBER, "%.40s %s",
             format_fixed(bytes, unit == 0 ? 0 : format_decimals(bytes), number), units[unit]);
    return out;
}

const char *format_ratio(double ratio, char out[FORMAT_NUMBER]) {
    if (isinf(ratio))
        return strcpy(out, "inf");
    if (isnan(ratio))
        return strcpy(out, "-");
    snprintf(out, FORMAT_NUMBER, "%.3g", ratio);
    return out;
}

const char *format_interval(const bench_ratio *ratio, const char *between,
                            char out[FORMAT_NUMBER]) {
    const int decimals = ratio->high < 10 ? 3 : ratio->high < 100 ? 2 : 1;
    snprintf(out, FORMAT_NUMBER, "%.*f%.8s%.*f", decimals, ratio->low, between, decimals,
             ratio->high);
    return out;
}

const char *format_verdict_sign(bench_verdict verdict) {
    static const char *const signs[] = {
        [BENCH_FASTER] = "\u25B2",
        [BENCH_SAME] = "=",
        [BENCH_SLOWER] = "\u25BC",
        [BENCH_UNCLEAR] = "?",
    };
    return signs[verdict];
}
