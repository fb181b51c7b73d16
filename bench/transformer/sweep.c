/*
 * transformer_sweep: each size of the language model at each context, forward, forward and
 * backward, and a full training step: time, memory, and whether it fits. One row each; a row that
 * does not fit says OOM with what was needed, and the others go on.
 *
 * Nothing is timed before the variant has passed its smoke cases on the same device. Times are
 * those of the host's clock around one call and the wait for its end; calls take milliseconds. The
 * peak is what the call holds: parameters, arguments, and the arena. Data are random, the same for
 * all scenarios, so that rows of one size and context show the same loss.
 */
#include "bench/transformer/gate.h"
#include "bench/transformer/model.h"
#include "tests/engine/turn.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_ERROR = 3, EXIT_REFUSED = 4, EXIT_NOTHING_RAN = 77 };
enum { MOST_REPEATS = 100, MOST_CONTEXTS = 16, MOST_SIZES = 8 };

typedef struct options {
    const char *device, *variant, *dtype;
    char *sizes, *contexts;
    const char *csv;
    int repeats;
} options;

typedef struct sweep {
    options o;
    const assay_device *device;
    const assay_variant *variant;
    FILE *csv;
} sweep;

static void usage(FILE *to) {
    fputs("usage: transformer_sweep [--device cuda] [--variant v3] [--dtype bf16|f32] "
          "[--sizes small,xl]\n"
          "                         [--contexts 128,1024] [--repeats 5] [--csv FILE]\n"
          "exit: 0 all rows ran or did not fit, 2 usage, 3 error, 4 the variant is not proven, "
          "77 no such device here\n",
          to);
}

static bool parse(int argc, char **argv, options *o) {
    static const struct option longs[] = {{"device", required_argument, NULL, 'd'},
                                          {"variant", required_argument, NULL, 'v'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"sizes", required_argument, NULL, 's'},
                                          {"contexts", required_argument, NULL, 'c'},
                                          {"repeats", required_argument, NULL, 'r'},
                                          {"csv", required_argument, NULL, 'o'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (c) {
        case 'd':
            o->device = optarg;
            break;
        case 'v':
            o->variant = optarg;
            break;
        case 't':
            o->dtype = optarg;
            break;
        case 's':
            o->sizes = optarg;
            break;
        case 'c':
            o->contexts = optarg;
            break;
        case 'r':
            o->repeats = atoi(optarg);
            break;
        case 'o':
            o->csv = optarg;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return false;
        }
    }
    if (optind < argc || o->repeats < 1 || o->repeats > MOST_REPEATS) {
        fprintf(stderr, "transformer_sweep: %s\n",
                optind < argc ? "takes options only" : "--repeats takes 1 to 100");
        return false;
    }
    return true;
}

/* ---- one row ---- */

typedef struct row {
    const char *status;             /* success, OOM, skip */
    double median, mean, deviation; /* milliseconds */
    size_t peak, arena;
    float loss;
} row;

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarise(row *r, double *seconds, int count) {
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i)
        sum += seconds[i];
    for (int i = 0; i < count; ++i)
        squares += (seconds[i] - sum / count) * (seconds[i] - sum / count);
    qsort(seconds, (size_t)count, sizeof *seconds, ascending);
    r->mean = 1e3 * sum / count;
    r->deviation = count > 1 ? 1e3 * sqrt(squares / (count - 1)) : 0;
    r->median = 1e3 * (seconds[count / 2] + seconds[(count - 1) / 2]) / 2;
}

/* Once to warm up, then the timed calls. */
static assay_status measure(workload *w, int repeats, row *r) {
    double seconds[MOST_REPEATS];
    assay_status status = workload_run(w, &seconds[0]);
    for (int i = 0; status == ASSAY_OK && i < repeats; ++i)
        status = workload_run(w, &seconds[i]);
    if (status == ASSAY_OK)
        status = workload_loss(w, &r->loss);
    if (status == ASSAY_OK)
        summarise(r, seconds, repeats);
    r->peak = w->peak;
    r->arena = w->call.workspace_bytes;
    return status;
}

static void print_row(const sweep *s, const model *m, const char *size, int64_t context, scenario k,
                      const row *r) {
    printf("%-7s %6lld  %-16s %-7s", size, (long long)context, scenario_name(k), r->status);
    if (r->peak > 0)
        printf(" %10.2f ms %8.2f  %8.2f GiB", r->median, r->deviation, (double)r->peak / 0x1p30);
    if (!isnan(r->loss))
        printf("  loss %.4f", (double)r->loss);
    putchar('\n');
    fflush(stdout);
    if (s->csv)
        fprintf(s->csv, "%s,%lld,%s,%s,%s,%s,%lld,%.4f,%.4f,%.4f,%zu,%zu,%.6f\n", size,
                (long long)context, scenario_name(k), s->o.variant, s->o.dtype, r->status,
                (long long)m->elements, r->median, r->mean, r->deviation, r->peak, r->arena,
                (double)r->loss);
    if (s->csv)
        fflush(s->csv); /* what is finished stays, whatever comes */
}

static assay_status run_row(const sweep *s, model *m, const char *size, int64_t context,
                            scenario k) {
    row r = {.status = "success", .loss = NAN};
    workload w;
    assay_status status = workload_init(&w, m, k, context);
    if (status == ASSAY_OK) {
        status = measure(&w, s->o.repeats, &r);
        workload_clear(&w);
    } else if (status == ASSAY_ERR_MEMORY || status == ASSAY_ERR_UNSUPPORTED) {
        fprintf(stderr, "%s, context %lld: %s\n", size, (long long)context, assay_error());
        r.status = status == ASSAY_ERR_MEMORY ? "OOM" : "skip";
        status = ASSAY_OK;
    }
    if (status == ASSAY_OK)
        print_row(s, m, size, context, k, &r);
    return status;
}

/* ---- all rows ---- */

/* Splits "a,b" in place; how many parts. */
static int split(char *text, const char **part, int most) {
    int n = 0;
    for (char *rest = text, *word; n < most && (word = strtok_r(rest, ",", &rest));)
        part[n++] = word;
    return n;
}

static assay_status run_size(const sweep *s, const char *size, char *const *contexts, int count) {
    char text[ASSAY_CASE_TEXT];
    assay_case c;
    model m;
    snprintf(text, sizeof text, "transformer size=%s b=4 dtype=%s", size, s->o.dtype);
    assay_status status = assay_case_parse(text, &c);
    if (status == ASSAY_OK)
        status = model_init(&m, s->device, s->variant, &c);
    if (status == ASSAY_ERR_MEMORY) {
        printf("%-7s %6s  %-16s OOM\n", size, "all", "parameters");
        fprintf(stderr, "%s: %s\n", size, assay_error());
        return ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; status == ASSAY_OK && i < count; ++i)
        for (scenario k = FORWARD; status == ASSAY_OK && k < SCENARIOS; ++k)
            status = run_row(s, &m, size, strtoll(contexts[i], NULL, 10), k);
    model_clear(&m);
    return status;
}

static assay_status run_all(const sweep *s) {
    const char *sizes[MOST_SIZES], *contexts[MOST_CONTEXTS];
    const int n_sizes = split(s->o.sizes, sizes, MOST_SIZES);
    const int n_contexts = split(s->o.contexts, contexts, MOST_CONTEXTS);
    assay_status status = ASSAY_OK;
    if (s->csv)
        fputs("size,context,scenario,variant,dtype,status,parameters,median_ms,mean_ms,std_ms,"
              "peak_bytes,arena_bytes,loss\n",
              s->csv);
    for (int i = 0; status == ASSAY_OK && i < n_sizes; ++i)
        status = run_size(s, sizes[i], (char *const *)contexts, n_contexts);
    return status;
}

static int complain(int code) {
    fprintf(stderr, "transformer_sweep: %s\n", assay_error());
    return code;
}

int main(int argc, char **argv) {
    char sizes[] = "small,medium,large,xl,2.7b", contexts[] = "128,256,512,1024";
    char probe[ASSAY_DEVICE_TEXT];
    sweep s = {.o = {"cuda", "v3", "bf16", sizes, contexts, NULL, 5}};
    int32_t proven;
    assay_dtype dtype;
    if (!parse(argc, argv, &s.o)) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (!assay_dtype_parse(s.o.dtype, strlen(s.o.dtype), &dtype)) {
        fprintf(stderr, "transformer_sweep: unknown dtype '%s'; use bf16 or f32\n", s.o.dtype);
        return EXIT_USAGE;
    }
    if (assay_device_open(s.o.device, &s.device) != ASSAY_OK)
        return complain(EXIT_NOTHING_RAN);
    s.variant = turn_find_variant(s.device, "transformer", s.o.variant);
    if (!s.variant) {
        fprintf(stderr, "transformer_sweep: no transformer/%s on %s; `assay list` names all\n",
                s.o.variant, s.o.device);
        return EXIT_USAGE;
    }
    if (!gate_passed(s.device, s.o.variant, dtype, &proven))
        return EXIT_REFUSED;
    if (s.device->probe(probe) == ASSAY_OK)
        printf("transformer/%s, dtype=%s, batch 4, median of %d; %s; %d smoke cases passed first\n",
               s.o.variant, s.o.dtype, s.o.repeats, probe, proven);
    if (s.o.csv && !(s.csv = fopen(s.o.csv, "w"))) {
        perror(s.o.csv);
        return EXIT_ERROR;
    }
    const assay_status status = run_all(&s);
    if (s.csv && fclose(s.csv) != 0) {
        perror(s.o.csv);
        return EXIT_ERROR;
    }
    return status == ASSAY_OK ? 0 : complain(status == ASSAY_ERR_USAGE ? EXIT_USAGE : EXIT_ERROR);
}
