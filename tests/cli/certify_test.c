/* Which runs of checks give a certificate: reports made here, of the cases that the command asks
 * for, stand for those of kernels. */
#include "cli/certify.h"
#include "cli/state.h"
#include "engine/isolate.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No guest is started here: it is only hashed. */
static const assay_isolation usual = {
    .guest = "/bin/true", .seconds = 60, .gib = 8, .rehearsals = 1};

/* A run of `check OP/v1 ... --set smoke --certify`, in which every case passes. */
typedef struct run {
    char folder[64], said[1 << 14];
    assay_cli_target *target;
    assay_cli_args args;
    cli_cases cases;
    cli_environment environment;
    assay_row *row;
    cli_results results;
    const assay_device *isolated;
    certificate_subject subject;
    bool refused;
} run;

static void pass_all(run *r) {
    for (int64_t i = 0; i < r->cases.n_jobs; ++i) {
        assay_report *report = &r->results.report[i];
        REQUIRE_OK(assay_case_parse(r->cases.job[i].text, &report->c));
        snprintf(report->case_text, sizeof report->case_text, "%s", r->cases.job[i].text);
        report->rows = &r->row[i];
        report->n_rows = 1;
        r->row[i] = (assay_row){.variant = "v1",
                                .tensor = "y",
                                .verdict = ASSAY_PASS,
                                .cmp = {.verdict = ASSAY_PASS, .ratio = 0.5}};
    }
}

static void run_init(run *r, const char *const *op, int32_t n) {
    const assay_device *device;
    *r = (run){.folder = "/tmp/assay-certify-XXXXXX",
               .environment = {.date = "2026-01-31T12:00:00Z", .sandbox = "none"},
               .target = calloc((size_t)n, sizeof *r->target)};
    REQUIRE(r->target != NULL && mkdtemp(r->folder) != NULL);
    REQUIRE(setenv("ASSAY_CERTIFICATES", r->folder, 1) == 0);
    for (int32_t t = 0; t < n; ++t)
        r->target[t] =
            (assay_cli_target){.op = assay_op_find(op[t], strlen(op[t])), .variant = "v1"};
    r->args =
        (assay_cli_args){.target = r->target, .n_targets = n, .set = ASSAY_SMOKE, .certify = true};
    REQUIRE_OK(cli_cases_gather(&r->args, &r->cases));
    REQUIRE_OK(assay_device_open("sim", &device));
    REQUIRE_OK(assay_isolate(device, &usual, &r->isolated));
    REQUIRE_OK(certify_begin(&r->cases, r->isolated, &r->subject));
    const size_t jobs = (size_t)r->cases.n_jobs;
    r->results = (cli_results){.environment = &r->environment,
                               .report = calloc(jobs, sizeof *r->results.report),
                               .count = r->cases.n_jobs};
    r->row = calloc(jobs, sizeof *r->row);
    REQUIRE(r->results.report != NULL && r->row != NULL);
    pass_all(r);
}

static void run_clear(run *r) {
    char command[128];
    assay_isolate_end(r->isolated);
    free(r->results.report);
    free(r->row);
    free(r->target);
    cli_cases_clear(&r->cases);
    snprintf(command, sizeof command, "rm -r %s", r->folder);
    CHECK(system(command) == 0);
    REQUIRE(unsetenv("ASSAY_CERTIFICATES") == 0);
}

static assay_status end(run *r) {
    FILE *to = fmemopen(r->said, sizeof r->said, "w");
    REQUIRE(to != NULL);
    const assay_status status =
        certify_end(&r->args, &r->cases, &r->results, r->isolated, &r->subject, to, &r->refused);
    fclose(to);
    return status;
}

static void path_of(const run *r, const char *op, char path[PATH_MAX]) {
    certificate_subject s = {.variant = "v1", .device = "sim", .scope = r->args.scope};
    snprintf(s.op, sizeof s.op, "%s", op);
    REQUIRE_OK(state_certificate_path(r->folder, &s, path));
}

static bool is_certified(const run *r, const char *op) {
    char path[PATH_MAX];
    unsigned char key[HASH_KEY];
    assay_certificate c;
    bool exists;
    path_of(r, op, path);
    REQUIRE_OK(state_key(r->folder, key));
    REQUIRE_OK(state_read(path, key, &exists, &c));
    certificate_clear(&c);
    return exists;
}

/* ---- one case that does not pass, of one operator after the other ---- */

typedef enum where { FIRST_OF_SET, LAST_OF_SET, SECRET } where;
/* Besides, the case has an exponent, or is none of the list; its report has no row, or one
 * of another variant; and there is a certificate all the same. */
enum { SIZED = 1, DRAWN = 2, LOST = 4, STRANGE = 8, CERTIFIED = 16 };
typedef struct change {
    const char *op;
    where at;
    assay_verdict verdict;
    unsigned also;
} change;

static const change changes[] = {
    {"weighted_sum", LAST_OF_SET, ASSAY_PASS, CERTIFIED},
    {"kronecker", LAST_OF_SET, ASSAY_FAIL, 0},
    {"matmul_accumulate", LAST_OF_SET, ASSAY_ERROR, 0},
    {"attention", LAST_OF_SET, ASSAY_SKIP, CERTIFIED},
    /* data that prove nothing */
    {"conv3d_groupnorm_mean", LAST_OF_SET, ASSAY_MISTRUSTED, 0},
    {"softmax", LAST_OF_SET, ASSAY_MISTRUSTED, SIZED | CERTIFIED},
    {"layernorm", LAST_OF_SET, ASSAY_FAIL, SIZED},
    {"rmsnorm", LAST_OF_SET, ASSAY_ERROR, SIZED},
    {"embedding", SECRET, ASSAY_MISTRUSTED, CERTIFIED},
    {"linear", SECRET, ASSAY_FAIL, 0},
    {"rope", SECRET, ASSAY_ERROR, 0},
    /* cases that no list holds */
    {"swiglu", LAST_OF_SET, ASSAY_MISTRUSTED, DRAWN | CERTIFIED},
    {"cross_entropy", LAST_OF_SET, ASSAY_SKIP, DRAWN | CERTIFIED},
    {"adamw", LAST_OF_SET, ASSAY_FAIL, DRAWN},
    {"gelu", LAST_OF_SET, ASSAY_ERROR, DRAWN},
    /* the engine could not begin it */
    {"transpose", LAST_OF_SET, ASSAY_PASS, LOST},
    {"reduce", LAST_OF_SET, ASSAY_PASS, STRANGE},
};
enum { CHANGES = sizeof changes / sizeof *changes };

static int64_t job_of(const run *r, const char *op, where at) {
    int64_t found = -1;
    for (int64_t i = 0; i < r->cases.n_jobs; ++i) {
        const cli_job *job = &r->cases.job[i];
        if (strcmp(job->selection->op->name, op) == 0 && job->secret == (at == SECRET) &&
            (found < 0 || at == LAST_OF_SET))
            found = i;
    }
    REQUIRE_MSG(found >= 0, "%s has no such case", op);
    return found;
}

static int64_t make(run *r, const change *c) {
    const int64_t i = job_of(r, c->op, c->at);
    r->row[i].verdict = r->row[i].cmp.verdict = c->verdict;
    r->results.report[i].c.exponent = (c->also & SIZED) ? 20 : 0;
    r->results.report[i].n_rows = (c->also & LOST) ? 0 : 1;
    r->row[i].variant = (c->also & STRANGE) ? "v9" : "v1";
    r->cases.job[i].drawn = (c->also & DRAWN) != 0;
    return i;
}

/* A certificate of an earlier run goes where there is none now. */
static void leave_old(const run *r, const char *op) {
    char path[PATH_MAX];
    path_of(r, op, path);
    FILE *old = fopen(path, "w");
    REQUIRE(old != NULL && fclose(old) == 0);
}

ASSAY_TEST(cli_certify, one_case_decides, "unit") {
    const char *ops[CHANGES];
    int64_t job[CHANGES];
    run r;
    for (int i = 0; i < CHANGES; ++i)
        ops[i] = changes[i].op;
    run_init(&r, ops, CHANGES);
    for (int i = 0; i < CHANGES; ++i) {
        job[i] = make(&r, &changes[i]);
        leave_old(&r, changes[i].op);
    }
    REQUIRE_OK(end(&r));
    CHECK(r.refused);
    for (int i = 0; i < CHANGES; ++i) {
        char line[64 + ASSAY_CASE_TEXT];
        const bool certified = (changes[i].also & CERTIFIED) != 0;
        if (certified)
            snprintf(line, sizeof line, "certified %s/v1 on sim: ", ops[i]);
        else
            snprintf(line, sizeof line, "no certificate for %s/v1 on sim: it did not pass %s\n",
                     ops[i], r.cases.job[job[i]].text);
        CHECK_MSG(is_certified(&r, ops[i]) == certified, "%s: %s", ops[i],
                  certified ? "not certified" : "certified");
        CHECK_MSG(strstr(r.said, line) != NULL, "\"%s\" does not say: %s", r.said, line);
    }
    run_clear(&r);
}

/* ---- all cases ---- */

static const char *const one[] = {"weighted_sum"};

ASSAY_TEST(cli_certify, no_variant_is_refused_that_passed_nothing, "unit") {
    static const change first = {"weighted_sum", FIRST_OF_SET, ASSAY_FAIL, 0};
    run r;
    run_init(&r, one, 1);
    (void)make(&r, &first);
    REQUIRE_OK(end(&r));
    CHECK(!r.refused && strstr(r.said, "it did not pass weighted_sum ") != NULL);
    pass_all(&r);
    for (int64_t i = 0; i < r.cases.n_jobs; ++i)
        r.row[i].verdict = ASSAY_SKIP;
    REQUIRE_OK(end(&r));
    CHECK_MSG(!r.refused && strstr(r.said, "no case of it passed") != NULL, "%s", r.said);
    r.row[job_of(&r, "weighted_sum", FIRST_OF_SET)].verdict = ASSAY_PASS;
    REQUIRE_OK(end(&r));
    CHECK_MSG(r.refused && !is_certified(&r, "weighted_sum"), "one of all cases: %s", r.said);
    run_clear(&r);
}

ASSAY_TEST(cli_certify, a_scope_is_said, "unit") {
    run r;
    run_init(&r, one, 1);
    r.args.scope = (check_scope){.forward = true, .packed = true};
    r.row[job_of(&r, "weighted_sum", LAST_OF_SET)].cmp.ratio = 0.75;
    REQUIRE_OK(end(&r));
    CHECK(is_certified(&r, "weighted_sum"));
    CHECK_MSG(
        strstr(r.said, "certified weighted_sum/v1 on sim, forward only, packed tensors only: "),
        "%s", r.said);
    CHECK_MSG(strstr(r.said, ", worst ratio 0.75\n  ran forward+backward ") != NULL, "%s", r.said);
    run_clear(&r);
}

ASSAY_TEST(cli_certify, a_guest_that_is_gone, "unit") {
    char guest[] = "/tmp/assay-guest-XXXXXX";
    assay_isolation how = usual;
    const assay_device *device, *isolated;
    run r;
    run_init(&r, one, 1);
    const int file = mkstemp(guest);
    REQUIRE(file >= 0 && fchmod(file, 0700) == 0 && close(file) == 0);
    how.guest = guest;
    REQUIRE_OK(assay_device_open("sim", &device));
    REQUIRE_OK(assay_isolate(device, &how, &isolated));
    REQUIRE_OK(certify_begin(&r.cases, isolated, &r.subject));
    REQUIRE(unlink(guest) == 0);
    CHECK_FAILS(certify_begin(&r.cases, isolated, &r.subject), ASSAY_ERR_FILE, "cannot be read");
    assay_isolate_end(isolated);
    run_clear(&r);
}

ASSAY_TEST(cli_certify, nothing_where_the_run_cannot_be_named, "unit") {
    char path[PATH_MAX];
    run r;
    run_init(&r, one, 1);
    r.subject.kernel[3] ^= 1;
    CHECK_FAILS(end(&r), ASSAY_ERR_FILE, "changed during the check; nothing is certified");
    r.subject.kernel[3] ^= 1;
    REQUIRE(setenv("ASSAY_CERTIFICATES", "/dev/null/x", 1) == 0);
    CHECK_FAILS(end(&r), ASSAY_ERR_FILE, "set ASSAY_CERTIFICATES");
    REQUIRE(setenv("ASSAY_CERTIFICATES", r.folder, 1) == 0);
    static char deep[PATH_MAX]; /* the key has a place there, a certificate has none */
    for (size_t n = strlen(strcat(strcpy(deep, r.folder), "/")); n < PATH_MAX - 16; ++n)
        deep[n] = n % 200 == 0 ? '/' : 'x';
    REQUIRE(setenv("ASSAY_CERTIFICATES", deep, 1) == 0);
    CHECK_FAILS(end(&r), ASSAY_ERR_USAGE, "the path of the certificates is too long");
    r.args.device = "sim";
    r.args.subverb = "show";
    CHECK(assay_cli_certificate(&r.args) == ASSAY_EXIT_USAGE);
    r.args.subverb = "verify";
    CHECK(assay_cli_certificate(&r.args) == ASSAY_EXIT_USAGE);
    r.args.device = "none";
    CHECK(assay_cli_certificate(&r.args) == ASSAY_EXIT_USAGE);
    REQUIRE(setenv("ASSAY_CERTIFICATES", r.folder, 1) == 0);
    path_of(&r, "weighted_sum", path);
    REQUIRE(mkdir(path, 0700) == 0);
    CHECK_FAILS(end(&r), ASSAY_ERR_FILE, "weighted_sum-v1-sim.cert");
    r.cases.selection[0].variant[0] = "v9";
    CHECK_FAILS(end(&r), ASSAY_ERR_UNSUPPORTED, "no variant to certify on sim");
    CHECK_FAILS(certify_begin(&r.cases, r.isolated, &r.subject), ASSAY_ERR_UNSUPPORTED,
                "no variant to certify on sim");
    run_clear(&r);
}
