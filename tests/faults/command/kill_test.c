/*
 * SIGKILL while files are written: each is the old one or the new one, and what a killed run leaves
 * beside it disturbs nothing.
 */
#include "tests/faults/command/commands.h"
#include "tests/shim/assay_test.h"

#include "assay/rng.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANDOM_KILLS = 6 };

static void expect_killed_well(stage *s, const char *where) {
    char text[STAGE_FAULT];
    const char *fault = stage_fault(s, true, text);
    CHECK_MSG(fault == NULL, "assay %s, killed %s: %s", s->command->words, where, fault);
}

/* The files as the killed run left them, those that it had not finished too. */
static void expect_second_run(stage *s, const char *where) {
    char text[STAGE_FAULT];
    stage_run_again(s);
    const char *lack = s->outcome.code == s->command->code ? stage_lack(s, text) : s->outcome.err;
    CHECK_MSG(lack == NULL, "assay %s, after a run that was killed %s: %s", s->command->words,
              where, lack);
}

/* ---- at every call that may change a file ---- */

static bool changes_files(const char *function) {
    static const char *const others[] = {"fdopen", "write",  "rename", "mkstemp", "mkostemps",
                                         "fchmod", "unlink", "fsync",  "link"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(function, others[i]) == 0)
            return true;
    return strcmp(function, "H5Fcreate") == 0 || strcmp(function, "H5Fclose") == 0 ||
           strcmp(function, "H5Dwrite") == 0;
}

static void kill_at_every_change(void *context) {
    static stage s;
    static bool wanted[INJECT_NOTED];
    hide_gpu();
    stage_init(&s, context);
    stage_run(&s, INJECT_NOTHING, 0, -1);
    const int64_t calls = s.outcome.calls;
    int64_t kills = 0;
    REQUIRE(calls <= INJECT_NOTED);
    for (int64_t i = 0; i < calls; ++i)
        wanted[i] = changes_files(s.box.record->call[i].name);
    for (int64_t i = 0; i < calls; ++i) {
        if (!wanted[i])
            continue;
        stage_run(&s, INJECT_KILL, i + 1, -1);
        /* With other cases drawn, that call may never come. */
        CHECK(s.outcome.died == SIGKILL || s.command->random);
        expect_killed_well(&s, "before a call that changes a file");
        expect_second_run(&s, "before a call that changes a file");
        ++kills;
    }
    CHECK(kills > 0);
    stage_clear(&s);
}

/* ---- at random moments ---- */

static double milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double duration(stage *s) {
    const double start = milliseconds();
    stage_run(s, INJECT_FAILURE, 0, -1);
    return milliseconds() - start;
}

static void kill_at_random(void *context) {
    static stage s;
    const char *count = getenv("ASSAY_KILLS");
    const uint64_t stream = assay_rng_stream("kills");
    const int64_t kills = count != NULL ? strtoll(count, NULL, 10) : RANDOM_KILLS;
    hide_gpu();
    stage_init(&s, context);
    /* On a busy machine the first run may have taken much longer than the others do. */
    double longest = 1.2 * duration(&s);
    int64_t killed = 0;
    for (int64_t i = 0; i < kills || (killed == 0 && i < 10 * kills); ++i) {
        stage_run(&s, INJECT_FAILURE, 0, longest * assay_rng_uniform(0, stream, (uint64_t)i));
        killed += s.outcome.died == SIGKILL;
        longest *= killed == 0 ? 0.8 : 1;
        expect_killed_well(&s, "at random");
        expect_second_run(&s, "at random");
    }
    CHECK(killed > 0);
    stage_clear(&s);
}

#ifdef ASSAY_INSTRUMENTED /* a killed process tells AddressSanitizer nothing */
enum { WORTH_KILLING = false };
#else
enum { WORTH_KILLING = true };
#endif

__attribute__((constructor)) static void register_commands(void) {
    const command *c;
    for (int i = 0; WORTH_KILLING && (c = command_that_writes(i)) != NULL; ++i) {
        assay_test_register("kill_at_every_change", c->name, "faults", kill_at_every_change,
                            (void *)c);
        assay_test_register("kill_at_random", c->name, "faults", kill_at_random, (void *)c);
    }
}
