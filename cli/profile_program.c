/* Which program counts on the simulated device: this one, if its kernels tell of their accesses, or
 * assay_recorded beside it. */
#include "cli/profile.h"

#include "core/place.h"
#include "sim/trace.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = PATH_MAX, MORE_WORDS = 24, NUMBER = 96 };

static bool runs(const char *program, char path[PATH_SIZE]) {
    const int length = snprintf(path, PATH_SIZE, "%s", program);
    return length < PATH_SIZE && access(path, X_OK) == 0;
}

/* $ASSAY_RECORDED_PROGRAM, or this tree's. */
static bool find_program(char path[PATH_SIZE]) {
    const char *const named = getenv("ASSAY_RECORDED_PROGRAM");
    char own[PATH_MAX];
    if (named != NULL)
        return runs(named, path);
    return assay_place("assay_recorded", own) == ASSAY_OK && runs(own, path);
}

/* The words of a command. */
typedef struct words {
    char **word; /* ends with a NULL */
    int32_t n, room;
    bool failed;
} words;

static void push(words *w, const char *word) {
    if (!w->failed && w->n + 1 < w->room)
        w->word[w->n] = strdup(word);
    w->failed = w->failed || w->n + 1 >= w->room || w->word[w->n] == NULL;
    w->n += !w->failed;
}

static void push_flag(words *w, const char *flag, const char *value) {
    if (value == NULL)
        return;
    push(w, flag);
    push(w, value);
}

static void push_number(words *w, const char *flag, double value) {
    char text[NUMBER];
    snprintf(text, sizeof text, "%.9g", value);
    push_flag(w, flag, value > 0 ? text : NULL);
}

static void push_all(words *w, const assay_cli_args *args) {
    char text[NUMBER];
    push(w, "assay");
    push(w, "profile");
    snprintf(text, sizeof text, "%.60s/%.30s", args->target->op->name, args->target->variant);
    push(w, text);
    for (int32_t i = 0; i < args->n_words; ++i)
        push(w, args->word[i]);
    push_flag(w, "--device", "sim");
    push_flag(w, "--json", args->json);
    push_flag(w, "--csv", args->csv);
    push_flag(w, "--trace", args->trace);
    snprintf(text, sizeof text, "%" PRIu64, args->seed);
    push_flag(w, "--seed", args->seed_given ? text : NULL);
    push_number(w, "--time-limit", args->time_limit);
    push_number(w, "--memory-limit", args->memory_limit);
    if (args->no_color)
        push(w, "--no-color");
}

/* Becomes that program; returns if it cannot. */
static assay_status hand_over(const char *program, const assay_cli_args *args) {
    words w = {.room = args->n_words + MORE_WORDS};
    w.word = calloc((size_t)w.room, sizeof *w.word);
    w.failed = w.word == NULL;
    push_all(&w, args);
    if (!w.failed)
        execv(program, w.word);
    for (int32_t i = 0; i < w.n; ++i)
        free(w.word[i]);
    free(w.word);
    return w.failed
               ? assay_fail(ASSAY_ERR_MEMORY, "no memory for the command line")
               : assay_fail(ASSAY_ERR_FILE,
                            "%s cannot be started; build the target assay_recorded again", program);
}

assay_status profile_counting(const assay_cli_args *args) {
    char path[PATH_SIZE];
    if (sim_race_compiled)
        return ASSAY_OK;
    if (!find_program(path))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "profile on sim needs the program assay_recorded, whose kernels tell of "
                          "their accesses: build the target assay_recorded, or set "
                          "ASSAY_RECORDED_PROGRAM to it");
    return hand_over(path, args);
}
