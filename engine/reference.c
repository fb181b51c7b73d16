#include "engine/reference.h"
#include "assay/problem.h"
#include "core/place.h"
#include "engine/process/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_TENSORS = 64, MESSAGE = 8192, CASES = 8 };
static const double seconds = 600, unit = 0x1p-24; /* fp32's, which tolerances are for */

static struct {
    const char *words, *python;
    process process;
    pid_t owner; /* whose child that process is: a copy of this process starts its own */
    char name[64];
    assay_tensor_spec tensor[MOST_TENSORS];
    int32_t n_in, n_out;
    bool gradients;
    assay_op op;
} the;

/* ---- the process ---- */

static assay_status failed(const char *said) {
    const char *text = strncmp(said, "bad ", 4) == 0 ? said + 4 : said;
    return assay_fail(ASSAY_ERR_FILE, "%.200s: %.300s", the.words, text);
}

/* One message of it; anything but `begin` is the line of an error. */
static assay_status listen(const char *begin, char answer[MESSAGE]) {
    char how[PROCESS_LINE];
    const process_limits limits = {.seconds = seconds, .bytes = INFINITY};
    const size_t n = process_read(&the.process, &limits, answer, MESSAGE - 1);
    answer[n] = '\0';
    if (n == 0)
        return assay_fail(ASSAY_ERR_FILE, "%.200s: its process %s", the.words,
                          process_how(&the.process, how));
    return strncmp(answer, begin, strlen(begin)) == 0 ? ASSAY_OK : failed(answer);
}

static assay_status start(void) {
    char script[PATH_MAX], answer[MESSAGE];
    if (the.process.pid != 0 && the.owner == getpid())
        return ASSAY_OK;
    assay_status status = assay_place("python/reference/main.py", script);
    if (status != ASSAY_OK)
        return status;
    char *argv[] = {(char *)the.python, (char *)"-B", script, (char *)the.words, NULL};
    the.process = (process){0};
    const int error = process_start(&the.process, argv, PROCESS_MESSAGES, -1);
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s, Python's interpreter, cannot be started: %s; set ASSAY_PYTHON",
                          the.python, strerror(error));
    the.owner = getpid();
    status = listen("ready", answer);
    if (status != ASSAY_OK)
        process_stop(&the.process);
    return status;
}

static assay_status ask(const char *word, int file, char answer[MESSAGE]) {
    const assay_status status = start();
    if (status != ASSAY_OK)
        return status;
    (void)process_send(&the.process, word, strlen(word), file);
    return listen("ok", answer);
}

/* ---- numbers, in memory that both have ---- */

typedef struct exchange {
    int file;
    double *number;
    size_t count;
    char answer[MESSAGE];
} exchange;

static void close_exchange(exchange *e) {
    if (e->number != NULL)
        (void)munmap(e->number, e->count * sizeof *e->number);
    if (e->file >= 0)
        (void)close(e->file);
}

static assay_status open_exchange(exchange *e, int64_t count) {
    *e = (exchange){.file = memfd_create("assay-reference", MFD_CLOEXEC),
                    .count = count > 0 ? (size_t)count : 1};
    const size_t bytes = e->count * sizeof *e->number;
    void *memory = MAP_FAILED;
    if (e->file >= 0 && ftruncate(e->file, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->file, 0);
    if (memory != MAP_FAILED) {
        e->number = memory;
        return ASSAY_OK;
    }
    const int error = errno;
    close_exchange(e);
    return assay_fail(ASSAY_ERR_MEMORY, "no memory shared with the reference's process: %s",
                      strerror(error));
}

static int64_t total(const assay_arrays *arrays) {
    int64_t count = 0;
    for (int32_t i = 0; arrays != NULL && i < arrays->count; ++i)
        count += arrays->data[i] != NULL ? arrays->size[i] : 0;
    return count;
}

static double *put(const assay_arrays *arrays, double *to) {
    for (int32_t i = 0; i < arrays->count; ++i)
        if (arrays->data[i] != NULL) {
            memcpy(to, arrays->data[i], (size_t)arrays->size[i] * sizeof *to);
            to += arrays->size[i];
        }
    return to;
}

static const double *take(assay_arrays *arrays, const double *from) {
    for (int32_t i = 0; i < arrays->count; ++i)
        if (arrays->data[i] != NULL) {
            memcpy(arrays->data[i], from, (size_t)arrays->size[i] * sizeof *from);
            from += arrays->size[i];
        }
    return from;
}

/* Asks for the results of the stage, into `result`, and where that is not NULL for `tolerance`. */
static assay_status compute(const char *word, const assay_oracle_args *args, bool backward,
                            assay_arrays *result, assay_arrays *tolerance, char letters[MESSAGE]) {
    exchange e;
    const int64_t given = total(args->in) + (backward ? total(args->cot) : 0);
    assay_status status =
        open_exchange(&e, given + total(result) + (tolerance != NULL ? total(tolerance) : 0));
    if (status != ASSAY_OK)
        return status;
    double *at = put(args->in, e.number);
    if (backward)
        at = put(args->cot, at);
    status = ask(word, e.file, e.answer);
    if (status == ASSAY_OK && tolerance == NULL)
        (void)take(result, at);
    else if (status == ASSAY_OK)
        (void)take(tolerance, at + total(result));
    if (status == ASSAY_OK)
        snprintf(letters, MESSAGE, "%s", e.answer + strlen("ok "));
    close_exchange(&e);
    return status;
}

/* ---- the operator ---- */

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    char letters[MESSAGE];
    return compute("forward", args, false, result, NULL, letters);
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    char letters[MESSAGE];
    return compute("backward", args, true, result, NULL, letters);
}

static void widen_bound(const assay_rounding *r, const double *want, double *bound, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
        const double moved = bound[e] * (r->u / unit);
        bound[e] = moved + r->u_out * (fabs(want[e]) + moved) + r->tiny / 2;
        if (!isfinite(want[e]))
            bound[e] = 0;
    }
}

static void explain(assay_bounds *bounds, int32_t i, char letter) {
    snprintf(bounds->why[i], ASSAY_WHY,
             "4 times the spread of 20 runs of the reference, each step moved within the bound of "
             "its own rounding, u = 2^-24");
    if (letter == 'L')
        snprintf(bounds->outside[i], ASSAY_WHY,
                 "an intermediate of the reference is beyond fp32's largest number");
    else if (letter == 'T')
        snprintf(bounds->outside[i], ASSAY_WHY,
                 "undecided: a whole number moves with the last bits of the inputs, as an index of "
                 "the largest does at ties");
    else if (letter == 'U')
        snprintf(bounds->outside[i], ASSAY_WHY,
                 "undecided: most tolerances exceed half of their elements");
}

static assay_status derive(const char *word, const assay_oracle_args *args, bool backwards,
                           const assay_rounding *r, const assay_arrays *want,
                           assay_bounds *bounds) {
    char letters[MESSAGE];
    const char *next = letters;
    assay_arrays *to = &bounds->element, like = *want;
    const assay_status status = compute(word, args, backwards, &like, to, letters);
    for (int32_t i = 0; status == ASSAY_OK && i < want->count; ++i)
        if (want->data[i] != NULL) {
            widen_bound(r, want->data[i], to->data[i], to->size[i]);
            explain(bounds, i, *next);
            next += *next != '\0';
        }
    return status;
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    return derive("bound-forward", args, false, r, want, bounds);
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    return derive("bound-backward", args, true, r, want, bounds);
}

static assay_status legal(assay_params *params) {
    (void)params;
    return ASSAY_OK;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, the.n_in, the.n_out);
    if (status != ASSAY_OK)
        return status;
    memcpy(sig->in, the.tensor, (size_t)the.n_in * sizeof *sig->in);
    memcpy(sig->out, the.tensor + the.n_in, (size_t)the.n_out * sizeof *sig->out);
    for (int32_t i = 0; i < the.n_in; ++i)
        if (sig->in[i].dtype != ASSAY_I32)
            sig->in[i].dtype = params->dtype;
    for (int32_t o = 0; o < the.n_out; ++o)
        if (sig->out[o].dtype != ASSAY_I32)
            sig->out[o].dtype = params->dtype;
    return ASSAY_OK;
}

/* Its own inputs, by the case's seed; where own=0, only those that are no real numbers. */
static assay_status data(assay_problem *p) {
    exchange e;
    char word[64];
    const bool own = assay_params_int(&p->c.params, "own") != 0;
    assay_status status = open_exchange(&e, total(&p->in));
    if (status != ASSAY_OK)
        return status;
    snprintf(word, sizeof word, "data %llu", (unsigned long long)p->c.seed);
    status = ask(word, e.file, e.answer);
    const double *from = e.number;
    for (int32_t i = 0; status == ASSAY_OK && i < p->in.count; ++i) {
        if (own || p->sig.in[i].dtype == ASSAY_I32)
            memcpy(p->in.data[i], from, (size_t)p->in.size[i] * sizeof *from);
        from += p->in.size[i];
    }
    close_exchange(&e);
    return status;
}

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    (void)stage;
    for (int32_t i = 0; i < sig->n_in; ++i)
        work->flops += (double)assay_spec_count(&sig->in[i]);
    for (int32_t o = 0; o < sig->n_out; ++o)
        work->flops += (double)assay_spec_count(&sig->out[o]);
    work->least = work->flops;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    (void)rng;
    (void)budget;
    params->item[0].count = 1;
    params->item[0].value[0] = 1;
}

/* ---- what it is ---- */

static bool read_tensor(const char *text, assay_tensor_spec *spec) {
    char kind;
    int differentiable, rank, used = 0;
    *spec = (assay_tensor_spec){.scale = 1};
    if (sscanf(text, "%47s %c %d %d%n", spec->name, &kind, &differentiable, &rank, &used) != 4 ||
        rank < 0 || rank > ASSAY_MAX_RANK)
        return false;
    spec->dtype = kind == 'f' ? ASSAY_F32 : ASSAY_I32;
    spec->differentiable = differentiable != 0;
    spec->rank = rank;
    spec->inner = rank > 0 ? 1 : 0;
    spec->indices = kind == 'f' ? 0 : 1;
    for (int32_t a = 0; a < rank; ++a) {
        char *end;
        spec->shape[a] = strtoll(text + used, &end, 10);
        if (end == text + used || spec->shape[a] < 0)
            return false;
        used = (int)(end - text);
    }
    return true;
}

static assay_status read_line(char *line) {
    const bool in = strncmp(line, "in ", 3) == 0, out = strncmp(line, "out ", 4) == 0;
    const int32_t count = the.n_in + the.n_out;
    if (strncmp(line, "op ", 3) == 0)
        snprintf(the.name, sizeof the.name, "%s", line[3] != '\0' ? line + 3 : "reference");
    if (!in && !out)
        return ASSAY_OK;
    if (count == MOST_TENSORS)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: has more than %d tensors", the.words,
                          MOST_TENSORS);
    if (!read_tensor(line + (in ? 3 : 4), &the.tensor[count]))
        return assay_fail(ASSAY_ERR_FILE, "%.300s: a tensor that cannot be judged: %.100s",
                          the.words, line);
    the.gradients = the.gradients || (in && the.tensor[count].differentiable);
    the.n_in += in;
    the.n_out += out;
    return ASSAY_OK;
}

static assay_status describe(void) {
    char answer[MESSAGE], *rest = NULL;
    assay_status status = ask("describe", -1, answer);
    if (status != ASSAY_OK)
        return status;
    for (char *line = strtok_r(answer, "\n", &rest); status == ASSAY_OK && line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        status = read_line(line);
    return status;
}

static const assay_key keys[] = {
    {"own", ASSAY_KEY_INT, "1", 0, 1, "1: the data of get_inputs(); 0: those of fill="}};

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "dtype=f32"},
    {ASSAY_SMOKE, "dtype=f32 pad=3 misalign=1 seed=1"},
    {ASSAY_CI, "dtype=f32,bf16 seed=2,3,4"},
    {ASSAY_CI, "own=0 dtype=f32 fill=normal,uniform,positive"},
    {ASSAY_NIGHTLY, "dtype=f32,bf16,f16 seed=5,6,7,8,9,10,11,12"},
};

assay_status reference_open(const char *words, const char *python, const assay_op **op) {
    the.words = words;
    the.python = python;
    const assay_status status = describe();
    if (status != ASSAY_OK)
        return status;
    the.op = (assay_op){
        .name = the.name,
        .forward_formula = "as the reference has it",
        .backward_formula = "its gradients",
        .keys = keys,
        .n_keys = 1,
        .dtypes =
            ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
        .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
        .legal = legal,
        .signature = signature,
        .forward = forward,
        .forward_plain = forward,
        .forward_bound = forward_bound,
        .data = data,
        .work = count_work,
        .draw = draw,
        .cases = cases,
        .n_cases = sizeof cases / sizeof *cases,
    };
    if (the.gradients) {
        the.op.backward = the.op.backward_plain = backward;
        the.op.backward_bound = backward_bound;
    }
    *op = &the.op;
    return ASSAY_OK;
}

void reference_close(void) {
    if (the.owner == getpid())
        process_stop(&the.process);
}
