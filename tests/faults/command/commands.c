#include "tests/faults/command/commands.h"
#include "cli/cli.h"
#include "tests/faults/command/whole.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In place of a setup: an empty list of digests, which golden files enter. */
#define LISTED "SHA256SUMS"

#define REPORTS "--json r.json --csv r.csv --junit r.xml --markdown r.md"
#define CERTIFY "check adamw/v1 --set smoke --certify --quiet --device sim"
#define HERE    " --device sim --in-process"
#define LEFT    "run weighted_sum/v1 n=2 d=3 --device sim --out t."
#define JUDGE   "judge weighted_sum n=2 d=3 --device sim --got t."
#define FUZZ    "fuzz weighted_sum/v1 --device sim --jobs 1 --findings findings.h5 --resume s.state"

/* The word that stands for the path of a kernel with a bug, in which there may be blanks. */
#define PLANTED "planted.so"

static const command writing[] = {
    {.name = "list_cases",
     .setup = {"list rope --set smoke --json r.json"},
     .words = "list kronecker --set smoke --json r.json"},
    {.name = "list_operators",
     .setup = {"list rope --set smoke --json r.json"},
     .words = "list weighted_sum --json r.json"},
    {.name = "check_reports",
     .setup = {"check weighted_sum n=2 d=3 " REPORTS HERE},
     .words = "check kronecker b=1 f=2x2 " REPORTS HERE},
    {.name = "certify", .setup = {CERTIFY}, .words = CERTIFY, .each = 64, .random = true},
    {.name = "golden_generate", .words = "golden generate weighted_sum n=1 d=2 --file g.h5"},
    {.name = "golden_add",
     .setup = {LISTED, "golden generate weighted_sum n=1 d=2 --file g.h5"},
     .words = "golden generate weighted_sum n=0 d=2 --file g.h5"},
    {.name = "run", .words = "run weighted_sum/v1 n=2 d=3 --device sim --out t.h5"},
    {.name = "run_nothing", .words = "run weighted_sum n=2 d=3 --no-run --out t.h5"},
    {.name = "run_from_file",
     .setup = {"run cross_entropy t=3 v=5 --no-run --out s.h5",
               "run weighted_sum n=1 d=1 --no-run --out t.h5"},
     .words = "run cross_entropy/v1 t=3 v=5 --device sim --in s.h5 --out t.h5"},
    {.name = "fuzz",
     .setup = {FUZZ " --cases 2"},
     .words = FUZZ " --cases 4",
     .each = 64,
     .random = true},
    {.name = "fuzz_finding",
     .words = "fuzz matmul_accumulate/k_tail n=1 k=1 --kernel " PLANTED
              " --device sim --jobs 1 --cases 1 --findings findings.h5 --corpus .",
     .each = 16,
     .random = true,
     .code = ASSAY_EXIT_FAILED},
};

static const command reading[] = {
    {.name = "help", .words = "help check"},
    {.name = "check_weighted_sum", .words = "check weighted_sum n=2 d=3 pad=1" HERE},
    {.name = "check_matmul_accumulate",
     .words = "check matmul_accumulate m=3 n=5 k=4 math=tf32" HERE},
    {.name = "check_attention", .words = "check attention b=1 h=1 sq=3 d=8 dtype=bf16" HERE},
    {.name = "check_conv3d",
     .words = "check conv3d_groupnorm_mean n=1 ci=2 co=2 s=2x3x3 k=1 g=1" HERE},
    {.name = "check_cross_entropy", .words = "check cross_entropy t=3 v=5" HERE},
    {.name = "check_embedding", .words = "check embedding t=3 v=5 d=4" HERE},
    {.name = "check_linear", .words = "check linear m=2 n=3 k=4" HERE},
    {.name = "check_rmsnorm", .words = "check rmsnorm n=2 d=8" HERE},
    {.name = "check_rope", .words = "check rope b=1 h=1 s=2 d=4 fill=cancel" HERE},
    {.name = "check_swiglu", .words = "check swiglu n=2 d=4" HERE},
    {.name = "check_adamw", .words = "check adamw n=5" HERE},
    {.name = "check_kronecker", .words = "check kronecker b=1 f=2x2" HERE},
    {.name = "check_softmax", .words = "check softmax n=2 d=4" HERE},
    {.name = "check_layernorm", .words = "check layernorm n=2 d=4" HERE},
    {.name = "check_gelu", .words = "check gelu n=2 d=4" HERE},
    {.name = "check_transpose", .words = "check transpose n=none r=2 c=3" HERE},
    {.name = "check_reduce", .words = "check reduce n=2x3 axes=1 kind=max fill=nan" HERE},
    {.name = "check_scan", .words = "check scan n=2x3 axis=1" HERE},
    {.name = "check_transformer",
     .words = "check transformer/v1 size=tiny b=1 t=2 vocab=5 d=8 ff=8 layers=1" HERE},
    {.name = "check_golden", .words = "check weighted_sum/v1 n=1 d=1 fill=golden seed=2" HERE},
    {.name = "check_isolated", .words = "check rope/v1 b=1 h=1 s=2 d=4 --device sim"},
    {.name = "check_kernel_file",
     .words = "check matmul_accumulate/long_k m=1 n=1 k=4 --kernel " PLANTED " --device sim"},
    {.name = "judge_hdf5", .setup = {LEFT "h5"}, .words = JUDGE "h5"},
    {.name = "judge_npz", .setup = {LEFT "npz"}, .words = JUDGE "npz"},
    {.name = "check_rows", .words = "check weighted_sum/v1 n=5 d=3 fill=exact --rows 2" HERE},
    {.name = "check_random", .words = "check rope/v1 --random 2" HERE},
    {.name = "certificate_verify",
     .setup = {CERTIFY},
     .words = "certificate verify adamw/v1 --device sim",
     .each = 16},
    {.name = "certificate_list",
     .setup = {CERTIFY},
     .words = "certificate list --device sim",
     .each = 16},
    {.name = "certificate_show",
     .setup = {CERTIFY},
     .words = "certificate show adamw/v1 --device sim"},
    {.name = "bench",
     .setup = {CERTIFY},
     .words = "bench adamw/v1 n=5 --device sim --samples 5",
     .each = 256,
     .random = true},
    {.name = "golden_list",
     .setup = {"golden generate weighted_sum n=1 d=2 --file g.h5"},
     .words = "golden list --file g.h5"},
    {.name = "golden_verify",
     .setup = {LISTED, "golden generate weighted_sum n=2 d=2 --file g.h5"},
     .words = "golden verify weighted_sum/v1 --file g.h5 --device sim"},
};

#define ON_GPU " --device cuda --in-process"

static const command gpu[] = {
    {.name = "weighted_sum", .words = "check weighted_sum n=2 d=3" ON_GPU},
    {.name = "kronecker", .words = "check kronecker b=1 f=2x2" ON_GPU},
    {.name = "matmul_accumulate", .words = "check matmul_accumulate m=8 n=8 k=8" ON_GPU},
    {.name = "linear", .words = "check linear m=8 n=16 k=8 dtype=bf16" ON_GPU},
    {.name = "attention", .words = "check attention b=1 h=1 sq=128 d=64 dtype=bf16" ON_GPU},
    {.name = "conv3d", .words = "check conv3d_groupnorm_mean n=1 ci=2 co=2 s=2x3x3 k=1 g=1" ON_GPU},
    {.name = "cross_entropy", .words = "check cross_entropy t=3 v=5" ON_GPU},
    {.name = "transformer",
     .words = "check transformer/v1 size=tiny b=1 t=2 vocab=5 d=8 ff=8 layers=1" ON_GPU},
};

enum {
    ON_THE_GPU = sizeof gpu / sizeof *gpu,
    WRITING = sizeof writing / sizeof *writing,
    READING = sizeof reading / sizeof *reading,
};

const command *command_that_writes(int i) {
    return i < WRITING ? &writing[i] : NULL;
}

const command *command_that_reads(int i) {
    return i < READING ? &reading[i] : NULL;
}

const command *command_on_gpu(int i) {
    return i < ON_THE_GPU ? &gpu[i] : NULL;
}

/* ---- a run ---- */

static void run_words(stage *s, const char *text, inject_mode mode, int64_t at,
                      double milliseconds) {
    char copy[512], *rest = NULL;
    const char *words[SANDBOX_WORDS + 1] = {NULL};
    int count = 0;
    REQUIRE(strlen(text) < sizeof copy);
    strcpy(copy, text);
    for (char *word = strtok_r(copy, " ", &rest); word != NULL && count < SANDBOX_WORDS;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = strcmp(word, PLANTED) == 0 ? ASSAY_PLANTED : word;
    sandbox_run(&s->box, words, mode, at, milliseconds, &s->outcome);
}

static void run_well(stage *s, const char *text, int code) {
    run_words(s, text, INJECT_NOTHING, 0, -1);
    if (s->outcome.code == 77)
        SKIP_GPU("no GPU, or no module for it");
    REQUIRE_MSG(s->outcome.code == code && s->outcome.err[0] == '\0',
                "assay %s, without a fault: exit %d; %s", text, s->outcome.code, s->outcome.err);
}

static void set_up(stage *s, const char *text) {
    const file_bytes empty = {(unsigned char *)"", 0};
    if (strcmp(text, LISTED) == 0)
        sandbox_write(&s->box, text, &empty);
    else
        run_well(s, text, 0);
}

/* ---- its files ---- */

static bool note_file(const char *name, void *context) {
    stage *s = context;
    for (int i = 0; i < s->n_files; ++i)
        if (strcmp(s->file[i].name, name) == 0)
            return true;
    REQUIRE(s->n_files < COMMAND_FILES && strlen(name) < sizeof s->file->name);
    command_file *file = &s->file[s->n_files++];
    *file = (command_file){0};
    strcpy(file->name, name);
    return true;
}

/* Reports of checks, but for CSV, tell when they ran and how long. */
static bool is_timed(const command *c, const char *file) {
    return strncmp(c->words, "check ", 6) == 0 && is_report(file) && strstr(file, ".csv") == NULL;
}

void hide_gpu(void) {
    CHECK(setenv("CUDA_VISIBLE_DEVICES", "", 1) == 0);
}

void stage_init(stage *s, const command *c) {
    *s = (stage){.command = c};
    sandbox_init(&s->box);
    for (int i = 0; i < COMMAND_SETUPS && c->setup[i] != NULL; ++i)
        set_up(s, c->setup[i]);
    sandbox_visit(&s->box, note_file, s);
    for (int i = 0; i < s->n_files; ++i)
        s->file[i].old = sandbox_read(&s->box, s->file[i].name);
    run_well(s, c->words, c->code);
    sandbox_visit(&s->box, note_file, s);
    for (int i = 0; i < s->n_files; ++i) {
        s->file[i].fresh = sandbox_read(&s->box, s->file[i].name);
        s->file[i].timed = is_timed(c, s->file[i].name);
    }
    strcpy(s->fresh_out, s->outcome.out);
}

void stage_clear(stage *s) {
    for (int i = 0; i < s->n_files; ++i) {
        free(s->file[i].old.data);
        free(s->file[i].fresh.data);
    }
    sandbox_clear(&s->box);
}

static bool is_known(const char *name, void *context) {
    const stage *s = context;
    for (int i = 0; i < s->n_files; ++i)
        if (strcmp(s->file[i].name, name) == 0)
            return true;
    return false;
}

void stage_run(stage *s, inject_mode mode, int64_t at, double milliseconds) {
    sandbox_visit(&s->box, is_known, s);
    for (int i = 0; i < s->n_files; ++i)
        sandbox_write(&s->box, s->file[i].name, &s->file[i].old);
    run_words(s, s->command->words, mode, at, milliseconds);
}

void stage_run_again(stage *s) {
    run_words(s, s->command->words, INJECT_NOTHING, 0, -1);
}

/* ---- what it left ---- */

static bool is_fresh(const command_file *file, const file_bytes *now) {
    if (is_campaign(file->name))
        return campaigns_equal(now, &file->fresh);
    if (!file->timed)
        return bytes_equal(now, &file->fresh);
    return now->data != NULL && !bytes_equal(now, &file->old) && report_is_whole(file->name, now);
}

/* A report may also tell of the fault, whole; a certificate is taken away when a case breaks. */
static bool is_whole(const command_file *file, const file_bytes *now) {
    if (now->data == NULL && strstr(file->name, ".cert") != NULL)
        return true;
    return bytes_equal(now, &file->old) || is_fresh(file, now) ||
           (now->data != NULL && is_report(file->name) && report_is_whole(file->name, now));
}

typedef bool (*file_rule)(const command_file *file, const file_bytes *now);

/* The first file that breaks the rule. */
static const command_file *breaks(const stage *s, file_rule rule) {
    for (int i = 0; i < s->n_files; ++i) {
        file_bytes now = sandbox_read(&s->box, s->file[i].name);
        const bool right = rule(&s->file[i], &now);
        free(now.data);
        if (!right)
            return &s->file[i];
    }
    return NULL;
}

typedef struct stray {
    const stage *stage;
    char *text;
} stray;

static bool note_stray(const char *name, void *context) {
    const stray *to = context;
    if (!is_known(name, (void *)to->stage))
        snprintf(to->text, STAGE_FAULT, "%s is left", name);
    return true;
}

const char *stage_fault(const stage *s, bool strays_allowed, char text[STAGE_FAULT]) {
    const command_file *file = breaks(s, is_whole);
    stray to = {s, text};
    text[0] = '\0';
    if (file != NULL)
        snprintf(text, STAGE_FAULT, "%s is neither the old one nor a whole new one", file->name);
    if (!strays_allowed)
        sandbox_visit(&s->box, note_stray, &to);
    return text[0] != '\0' ? text : NULL;
}

/* Line by line, without those that end in how long the run took. */
static bool same_lines(const char *a, const char *b) {
    while (*a != '\0' && *b != '\0') {
        const size_t m = strcspn(a, "\n"), n = strcspn(b, "\n");
        const bool times = m > 2 && n > 2 && memcmp(a + m - 2, " s", 2) == 0;
        if (!times && (m != n || memcmp(a, b, n) != 0))
            return false;
        a += m + (a[m] != '\0');
        b += n + (b[n] != '\0');
    }
    return *a == *b;
}

const char *stage_lack(const stage *s, char text[STAGE_FAULT]) {
    const command_file *file = breaks(s, is_fresh);
    if (file != NULL)
        snprintf(text, STAGE_FAULT, "%s is not what it should be", file->name);
    else if (!s->command->random && !same_lines(s->outcome.out, s->fresh_out))
        snprintf(text, STAGE_FAULT, "it did not print what it should");
    else
        return NULL;
    return text;
}
