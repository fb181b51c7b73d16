#include "bench/report/environment.h"

#include "bench/report/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_three(const double value[3], const char *unit, char *text, size_t room) {
    char a[FORMAT_NUMBER], b[FORMAT_NUMBER], c[FORMAT_NUMBER];
    if (value[1] > 0)
        snprintf(text, room, "%s %s, from %s to %s while timing", format_fixed(value[1], 0, b),
                 unit, format_fixed(value[0], 0, a), format_fixed(value[2], 0, c));
}

static void put_timer(const bench_environment *e, char *text, size_t room) {
    char known[FORMAT_NUMBER], measured[FORMAT_NUMBER];
    if (e->known > 0)
        snprintf(text, room,
                 "a kernel that lasts %s \u00b5s by the GPU's clock was timed at %s \u00b5s; "
                 "p90 / p10 - 1 = %.2f %%",
                 format_fixed(e->known, 2, known), format_fixed(e->measured, 2, measured),
                 100 * e->noise);
}

static void put_copy(const bench_environment *e, char *text, size_t room) {
    char number[FORMAT_NUMBER];
    if (e->copy_bytes > 0)
        snprintf(text, room, "%s TB/s within the device, read and written",
                 format_fixed(e->copy_bytes / 1e12, 2, number));
}

static void put_version(const bench_environment *e, char *text, size_t room) {
    if (e->version[0] != '\0')
        snprintf(text, room, "%s%s%s", e->version, e->commit[0] != '\0' ? ", commit " : "",
                 e->commit);
}

static void put_clock(const bench_environment *e, char *text, size_t room) {
    put_three(e->sm_clock_mhz, "MHz", text, room);
}

static void put_power(const bench_environment *e, char *text, size_t room) {
    put_three(e->power_watt, "W", text, room);
}

#define PLAIN(field)                                                                               \
    static void put_##field(const bench_environment *e, char *text, size_t room) {                 \
        snprintf(text, room, "%s", e->field);                                                      \
    }
PLAIN(device)
PLAIN(cpu)
PLAIN(os)
PLAIN(blas)
PLAIN(compiler)
PLAIN(date)
PLAIN(command)
#undef PLAIN

static const struct {
    const char *name;
    void (*put)(const bench_environment *e, char *text, size_t room);
} lines[] = {
    {"Device", put_device}, {"SM clock", put_clock}, {"Power", put_power},
    {"Copy", put_copy},     {"Timer", put_timer},    {"CPU", put_cpu},
    {"System", put_os},     {"BLAS", put_blas},      {"Compiler", put_compiler},
    {"assay", put_version}, {"Date", put_date},      {"Command", put_command},
};

bool environment_line(const bench_environment *e, int i, environment_item *item) {
    for (size_t line = 0; line < sizeof lines / sizeof *lines; ++line) {
        item->name = lines[line].name;
        item->text[0] = '\0';
        lines[line].put(e, item->text, sizeof item->text);
        if (item->text[0] != '\0' && i-- == 0)
            return true;
    }
    return false;
}
