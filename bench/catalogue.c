#include "bench/catalogue.h"
#include "core/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct peer {
    const char *op; /* "": every operator */
    const char *name, *label;
    bench_program program;
    bool tunes;
} peer;

#define PYTHON   BENCH_PROGRAM_PYTHON
#define LIBTORCH BENCH_PROGRAM_LIBTORCH

/* Those of an operator stand in for the common one of the same name. Triton tunes its kernels, and
 * cuDNN its convolutions. */
static const peer peers[] = {
    {"", "torch", "PyTorch eager", PYTHON, false},
    {"", "torch-compile", "torch.compile", PYTHON, false},
    {"weighted_sum", "torch-matmul", "PyTorch native (matmul)", PYTHON, false},
    {"weighted_sum", "torch-sum", "Manual PyTorch", PYTHON, false},
    {"weighted_sum", "triton-forward", "Triton forward only", PYTHON, true},
    {"weighted_sum", "triton-torch", "Triton w/ PyTorch backward", PYTHON, true},
    {"weighted_sum", "triton", "Triton w/ Triton backward", PYTHON, true},
    {"weighted_sum", "libtorch", "LibTorch (C++)", LIBTORCH, false},
    {"kronecker", "torch-kron", "PyTorch, explicit product", PYTHON, false},
    {"matmul_accumulate", "torch-addmm", "PyTorch addmm", PYTHON, false},
    {"matmul_accumulate", "torch-wide", "PyTorch mm in fp32, sum fused", PYTHON, false},
    {"attention", "sdpa-cudnn", "SDPA, cuDNN", PYTHON, false},
    {"attention", "sdpa-flash", "SDPA, flash", PYTHON, false},
    {"attention", "sdpa-efficient", "SDPA, efficient", PYTHON, false},
    {"attention", "sdpa-math", "SDPA, math", PYTHON, false},
    {"attention", "triton", "Triton, flash forward", PYTHON, true},
    {"conv3d_groupnorm_mean", "torch", "PyTorch Functional", PYTHON, true},
    {"conv3d_groupnorm_mean", "torch-module", "PyTorch Module", PYTHON, true},
    {"conv3d_groupnorm_mean", "triton-mean", "Triton (mean)", PYTHON, true},
    {"conv3d_groupnorm_mean", "libtorch", "LibTorch (C++)", LIBTORCH, true},
    {"conv3d_groupnorm_mean", "shortcut", "Custom (mean of beta)", PYTHON, true},
    {"linear", "libtorch", "LibTorch (C++)", LIBTORCH, false},
    {"transformer", "torch-compile-layers", "torch.compile by layers", PYTHON, false},
};
enum { PEERS = sizeof peers / sizeof *peers };

/* ---- peers ---- */

static bool is_overruled(const peer *common, const char *op) {
    for (const peer *p = peers; p < peers + PEERS; ++p)
        if (strcmp(p->op, op) == 0 && strcmp(p->name, common->name) == 0)
            return true;
    return false;
}

static bool is_peer_of(const peer *p, const char *op) {
    return p->op[0] == '\0' ? !is_overruled(p, op) : strcmp(p->op, op) == 0;
}

/* Whether `name` is one of the words of `list`. */
static bool is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *word = list; *word != '\0'; word += strcspn(word, ",")) {
        word += *word == ',';
        if (strncmp(word, name, length) == 0 && (word[length] == ',' || word[length] == '\0'))
            return true;
    }
    return false;
}

/* Every word names a peer of some operator: not each has all. */
static assay_status check_names(const char *list) {
    for (const char *word = list; *word != '\0';) {
        const int length = (int)strcspn(word, ",");
        bool known = false;
        for (const peer *p = peers; p < peers + PEERS; ++p)
            known = known ||
                    ((int)strlen(p->name) == length && strncmp(p->name, word, (size_t)length) == 0);
        if (!known)
            return assay_fail(ASSAY_ERR_USAGE,
                              "--peers: unknown peer '%.*s'; give all, none, or names from "
                              "docs/peers.md, separated by commas",
                              length < 60 ? length : 60, word);
        word += length + (word[length] == ',');
    }
    return ASSAY_OK;
}

static void add(bench_arms *arms, const char *name, const char *label, bench_program program,
                bool tunes) {
    bench_arm *a = &arms->arm[arms->count++];
    *a = (bench_arm){.program = program, .tunes = tunes};
    snprintf(a->name, sizeof a->name, "%s", name);
    snprintf(a->label, sizeof a->label, "%s", label);
}

static void add_peers(bench_arms *arms, const char *op, const char *list) {
    const bool all = strcmp(list, "all") == 0;
    for (const peer *p = peers; p < peers + PEERS; ++p)
        if (is_peer_of(p, op) && (all || is_listed(list, p->name)))
            add(arms, p->name, p->label, p->program, p->tunes);
}

/* ---- ours ---- */

static bool is_wanted(const char *name, const char *const *names, int32_t n) {
    for (int32_t i = 0; i < n; ++i)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

static void add_ours(bench_arms *arms, const assay_device *device, const char *op,
                     const char *const *variants, int32_t n) {
    char label[BENCH_NAME];
    for (int32_t v = 0; v < device->n_variants; ++v) {
        const assay_variant *variant = device->variants[v];
        if (strcmp(variant->op, op) != 0 || !is_wanted(variant->name, variants, n))
            continue;
        snprintf(label, sizeof label, "assay %s", variant->name);
        add(arms, variant->name, label, BENCH_PROGRAM_OURS, false);
    }
}

assay_status bench_arms_init(bench_arms *arms, const assay_device *device, const char *op,
                             const char *const *variants, int32_t n_variants, const char *list) {
    *arms = (bench_arms){0};
    const bool named = strcmp(list, "all") != 0 && strcmp(list, "none") != 0;
    const assay_status status = named ? check_names(list) : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    arms->arm = calloc((size_t)device->n_variants + PEERS, sizeof *arms->arm);
    if (!arms->arm)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the arms of %s", op);
    add_ours(arms, device, op, variants, n_variants);
    if (strcmp(list, "none") != 0)
        add_peers(arms, op, list);
    return ASSAY_OK;
}

void bench_arms_drop(bench_arms *arms, const char *name) {
    int32_t kept = 0;
    for (int32_t i = 0; i < arms->count; ++i)
        if (strcmp(arms->arm[i].name, name) != 0)
            arms->arm[kept++] = arms->arm[i];
    arms->count = kept;
}

void bench_arms_clear(bench_arms *arms) {
    free(arms->arm);
    *arms = (bench_arms){0};
}

/* ---- their programs ---- */

static assay_status find_program(const char *name, char path[PATH_MAX]) {
    const assay_status status = assay_place(name, path);
    if (status != ASSAY_OK || access(path, X_OK) == 0)
        return status;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s is not there: build the target %s", path, name);
}

/* $ASSAY_ARM stands for our own program. */
static assay_status find_ours(char path[PATH_MAX]) {
    const char *named = getenv("ASSAY_ARM");
    if (!named)
        return find_program("assay_arm", path);
    if (snprintf(path, PATH_MAX, "%s", named) < PATH_MAX && access(path, X_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "ASSAY_ARM=%.300s is not there: build the target assay_arm and name it",
                      named);
}

bool bench_arm_is_ours(const bench_arm *a) {
    return a->program == BENCH_PROGRAM_OURS || a->program == BENCH_PROGRAM_FUNCTION;
}

/* Where Python's scripts lie: beside the peers', and in the guest's folder. */
static assay_status find_function(char script[PATH_MAX], char guest[PATH_MAX]) {
    assay_status status = assay_place("peers/function.py", script);
    return status == ASSAY_OK ? assay_place("python/guest.py", guest) : status;
}

assay_status bench_arm_command(const bench_arm *a, const char *op, char *argv[BENCH_ARGV]) {
    static char program[PATH_MAX], script[PATH_MAX], guest[PATH_MAX], full[2 * BENCH_NAME];
    const char *python = getenv("ASSAY_PYTHON");
    assay_status status = ASSAY_OK;
    int n = 0;
    snprintf(full, sizeof full, "%s%s%s", op ? op : "", op ? "/" : "", a->name);
    argv[n++] = program;
    switch (a->program) {
    case BENCH_PROGRAM_OURS:
        status = find_ours(program);
        if (a->kernel) {
            argv[n++] = "--kernel";
            argv[n++] = (char *)a->kernel;
        }
        if (a->kernel && a->binding) {
            argv[n++] = "--binding";
            argv[n++] = (char *)a->binding;
        }
        argv[n++] = full;
        break;
    case BENCH_PROGRAM_PYTHON:
        snprintf(program, sizeof program, "%s", python ? python : "python3");
        status = assay_place("peers/arm.py", script);
        argv[n++] = script;
        argv[n++] = (char *)a->name;
        break;
    case BENCH_PROGRAM_LIBTORCH:
        status = find_program("assay_libtorch_arm", program);
        argv[n++] = (char *)a->name;
        break;
    case BENCH_PROGRAM_FUNCTION:
        snprintf(program, sizeof program, "%s", python ? python : "python3");
        status = find_function(script, guest);
        argv[n++] = script;
        argv[n++] = guest;
        argv[n++] = (char *)a->binding;
        break;
    }
    argv[n] = NULL;
    return status;
}
