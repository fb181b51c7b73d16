#include "bench/report/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINEAR_TICKS = 5 };

/* 1, 2 or 5 times a power of ten. */
static double round_up(double value) {
    const double power = pow(10, floor(log10(value)));
    const double digit = value / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static double round_down(double value) {
    const double power = pow(10, floor(log10(value)));
    const double digit = value / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

static double step_of(const axis *a) {
    return round_up((a->high - a->low) / LINEAR_TICKS);
}

axis axis_from_zero(double most, double from, double to) {
    return (axis){.high = most, .from = from, .to = to};
}

axis axis_logarithmic(double low, double high, double from, double to) {
    axis a = {.low = round_down(low), .high = round_up(high), .from = from, .to = to, .log = true};
    if (!(a.low < a.high))
        a.high = 10 * a.low;
    return a;
}

double axis_at(const axis *a, double value) {
    const double part = a->log ? log(value / a->low) / log(a->high / a->low)
                               : (value - a->low) / (a->high - a->low);
    return a->from + part * (a->to - a->from);
}

static int linear_ticks(const axis *a, double tick[AXIS_TICKS]) {
    const double step = step_of(a);
    int count = 0;
    while (count < AXIS_TICKS && step * count <= a->high * (1 + 1e-9)) {
        tick[count] = step * count;
        ++count;
    }
    return count;
}

/* Each power of ten, or every n-th; where these are few, 2 and 5 times as well. */
static int logarithmic_ticks(const axis *a, double tick[AXIS_TICKS]) {
    const double decades = log10(a->high / a->low);
    const int every = decades > 12 ? 4 : decades > 5 ? 2 : 1, parts = decades > 2.5 ? 1 : 3;
    static const double digits[] = {1, 2, 5};
    int count = 0;
    for (int e = (int)floor(log10(a->low) + 1e-9); e <= (int)ceil(log10(a->high)); ++e) {
        for (int d = 0; d < parts && e % every == 0; ++d) {
            const double value = digits[d] * pow(10, e);
            if (count < AXIS_TICKS && value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9))
                tick[count++] = value;
        }
    }
    return count;
}

int axis_ticks(const axis *a, double tick[AXIS_TICKS]) {
    if (a->n_own > 0) {
        memcpy(tick, a->own, (size_t)a->n_own * sizeof *tick);
        return a->n_own;
    }
    return a->log ? logarithmic_ticks(a, tick) : linear_ticks(a, tick);
}

/* Whether a number reads better in the next unit: "5000" and "16384" stay, "20000" is "20k". */
static bool is_long(double tick, int unit) {
    return tick >= 1e5 || (tick >= (unit == 0 ? 1e4 : 1e3) && fmod(tick, 1000) == 0);
}

const char *axis_text(double tick, char text[32]) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    int unit = 0;
    if (tick > 0 && tick < 1e-3) {
        snprintf(text, 32, "%.0e", tick);
        return text;
    }
    while (unit < 4 && is_long(tick, unit)) {
        tick /= 1000;
        ++unit;
    }
    snprintf(text, 32, "%.5g%s", tick, units[unit]);
    return text;
}
