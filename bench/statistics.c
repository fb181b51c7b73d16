#include "bench/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 5,          /* samples of a side: below this nothing is said */
    MOST = 1 << 30,   /* samples of a side */
    SEED = 0x5eed0007 /* of every bootstrap */
};

/* ---- order statistics ---- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of ascending values. */
static double quantile(const double *sorted, int64_t count, double q) {
    const double place = q * (double)(count - 1);
    const int64_t below = (int64_t)place, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

static assay_status check_samples(const double *sample, int64_t count) {
    if (count < 0 || count > MOST)
        return assay_fail(ASSAY_ERR_USAGE, "%" PRId64 " samples are too many; 0 to %d are possible",
                          count, MOST);
    for (int64_t i = 0; i < count; ++i)
        if (!isfinite(sample[i]))
            return assay_fail(ASSAY_ERR_USAGE, "sample %" PRId64 " of %" PRId64 " is not a number",
                              i + 1, count);
    return ASSAY_OK;
}

/* In two passes: squares of large times less their mean's would cancel. */
static void moments(const double *sample, int64_t count, bench_summary *summary) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += sample[i];
    summary->mean = sum / (double)count;
    for (int64_t i = 0; i < count; ++i)
        squares += (sample[i] - summary->mean) * (sample[i] - summary->mean);
    summary->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : (double)NAN;
}

assay_status bench_summarise(const double *sample, int64_t count, bench_summary *summary) {
    *summary = (bench_summary){.count = count,
                               .median = NAN,
                               .p10 = NAN,
                               .p90 = NAN,
                               .mean = NAN,
                               .deviation = NAN,
                               .least = NAN,
                               .most = NAN};
    const assay_status status = check_samples(sample, count);
    if (status != ASSAY_OK || count == 0)
        return status;
    double *sorted = malloc((size_t)count * sizeof *sorted);
    if (sorted == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to sort %" PRId64 " samples", count);
    memcpy(sorted, sample, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    summary->median = quantile(sorted, count, 0.5);
    summary->p10 = quantile(sorted, count, 0.1);
    summary->p90 = quantile(sorted, count, 0.9);
    summary->least = sorted[0];
    summary->most = sorted[count - 1];
    free(sorted);
    moments(sample, count, summary);
    return ASSAY_OK;
}

double bench_median(const double *sample, int64_t count) {
    bench_summary summary;
    return bench_summarise(sample, count, &summary) == ASSAY_OK ? summary.median : (double)NAN;
}

/* ---- the bootstrap ---- */

/* One arm's samples in ascending order. How often each was drawn, walked in that order, gives the
 * median of a draw without sorting it. */
typedef struct arm_samples {
    int64_t count;
    const double *sample; /* as taken */
    double *sorted;
    int64_t *rank;   /* of sample i among the sorted */
    int32_t *chosen; /* times that sorted value i was drawn */
} arm_samples;

typedef struct ranked {
    double value;
    int64_t index;
} ranked;

static int by_ranked_value(const void *a, const void *b) {
    return by_value(&((const ranked *)a)->value, &((const ranked *)b)->value);
}

static void arm_clear(arm_samples *a) {
    free(a->sorted);
    free(a->rank);
    free(a->chosen);
}

static assay_status arm_init(arm_samples *a, const double *sample, int64_t count) {
    const size_t n = (size_t)count;
    ranked *order = malloc(n * sizeof *order);
    assay_status status = ASSAY_OK;
    *a = (arm_samples){.count = count,
                       .sample = sample,
                       .sorted = malloc(n * sizeof *a->sorted),
                       .rank = malloc(n * sizeof *a->rank),
                       .chosen = malloc(n * sizeof *a->chosen)};
    if (order == NULL || a->sorted == NULL || a->rank == NULL || a->chosen == NULL) {
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory to compare %" PRId64 " samples", count);
        goto done;
    }
    for (int64_t i = 0; i < count; ++i)
        order[i] = (ranked){sample[i], i};
    qsort(order, n, sizeof *order, by_ranked_value);
    for (int64_t i = 0; i < count; ++i) {
        a->sorted[i] = order[i].value;
        a->rank[order[i].index] = i;
    }
done:
    free(order);
    return status;
}

static double median(const arm_samples *a) {
    return quantile(a->sorted, a->count, 0.5);
}

/* Of the chosen samples, `count` values in all: the mean of the two in the middle, or of the one.
 */
static double chosen_median(const arm_samples *a) {
    const int64_t low = (a->count - 1) / 2, high = a->count / 2;
    int64_t seen = 0, i = 0;
    while (seen + a->chosen[i] <= low)
        seen += a->chosen[i++];
    const double below = a->sorted[i];
    while (seen + a->chosen[i] <= high)
        seen += a->chosen[i++];
    return 0.5 * (below + a->sorted[i]);
}

/* Integers below `count` from the high words of Knuth's MMIX generator: thousands of draws for each
 * of a report's rows leave no time for a better one. Multiplying instead of taking the remainder
 * leaves a bias below count / 2^32. */
static int64_t roll(uint64_t *dice, int64_t count) {
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*dice >> 32) * (uint64_t)count >> 32);
}

static void draw(arm_samples *a, arm_samples *b, uint64_t *dice) {
    const bool paired = a->count == b->count;
    memset(a->chosen, 0, (size_t)a->count * sizeof *a->chosen);
    memset(b->chosen, 0, (size_t)b->count * sizeof *b->chosen);
    for (int64_t i = 0; i < a->count; ++i) {
        const int64_t pick = roll(dice, a->count);
        ++a->chosen[a->rank[pick]];
        if (paired)
            ++b->chosen[b->rank[pick]];
    }
    for (int64_t i = 0; !paired && i < b->count; ++i)
        ++b->chosen[b->rank[roll(dice, b->count)]];
}

static assay_status interval(arm_samples *a, arm_samples *b, bench_ratio *ratio) {
    uint64_t dice = SEED;
    double *drawn = malloc(BENCH_BOOTSTRAPS * sizeof *drawn);
    if (drawn == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d draws", BENCH_BOOTSTRAPS);
    for (int i = 0; i < BENCH_BOOTSTRAPS; ++i) {
        draw(a, b, &dice);
        drawn[i] = chosen_median(b) / chosen_median(a);
    }
    qsort(drawn, BENCH_BOOTSTRAPS, sizeof *drawn, by_value);
    ratio->low = quantile(drawn, BENCH_BOOTSTRAPS, 0.025);
    ratio->high = quantile(drawn, BENCH_BOOTSTRAPS, 0.975);
    free(drawn);
    return ASSAY_OK;
}

/* ---- the comparison ---- */

static assay_status check_times(const double *sample, int64_t count) {
    const assay_status status = check_samples(sample, count);
    for (int64_t i = 0; status == ASSAY_OK && i < count; ++i)
        if (!(sample[i] > 0))
            return assay_fail(ASSAY_ERR_USAGE,
                              "sample %" PRId64 " of %" PRId64 " is not a time: %g", i + 1, count,
                              sample[i]);
    return status;
}

static bench_verdict verdict_of(const bench_ratio *ratio, double margin, bool few) {
    if (few)
        return BENCH_UNCLEAR;
    if (ratio->low > 1 + margin)
        return BENCH_FASTER;
    if (ratio->high < 1 - margin)
        return BENCH_SLOWER;
    return ratio->low >= 1 - margin && ratio->high <= 1 + margin ? BENCH_SAME : BENCH_UNCLEAR;
}

assay_status bench_compare(const double *a, int64_t n_a, const double *b, int64_t n_b,
                           double margin, bench_ratio *ratio) {
    arm_samples of_a = {0}, of_b = {0};
    assay_status status;
    *ratio = (bench_ratio){.ratio = NAN, .low = NAN, .high = NAN, .verdict = BENCH_UNCLEAR};
    if ((status = check_times(a, n_a)) != ASSAY_OK || (status = check_times(b, n_b)) != ASSAY_OK)
        return status;
    if (n_a == 0 || n_b == 0)
        return ASSAY_OK;
    if ((status = arm_init(&of_a, a, n_a)) != ASSAY_OK ||
        (status = arm_init(&of_b, b, n_b)) != ASSAY_OK ||
        (status = interval(&of_a, &of_b, ratio)) != ASSAY_OK)
        goto done;
    ratio->ratio = median(&of_b) / median(&of_a);
    ratio->verdict = verdict_of(ratio, margin, n_a < FEW || n_b < FEW);
done:
    arm_clear(&of_a);
    arm_clear(&of_b);
    return status;
}

const char *bench_verdict_name(bench_verdict v) {
    static const char *const names[] = {
        [BENCH_FASTER] = "faster",
        [BENCH_SAME] = "same",
        [BENCH_SLOWER] = "slower",
        [BENCH_UNCLEAR] = "unclear",
    };
    return names[v];
}
