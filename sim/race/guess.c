#include "sim/race/guess.h"

#include "sim/race/order.h"

#include <string.h>

enum { WAITING = 64 };

typedef struct waiting {
    sim_race_found found;
    sim_guess_reader reader;
    bool knows_value;
    char value[SIM_WORD];
} waiting;

static waiting waits[WAITING]; /* the oldest first */
int32_t sim_guesses_waiting;

void sim_guess_begin(void) {
    sim_guesses_waiting = 0;
}

static void tell(const waiting *w, sim_race_class class) {
    sim_race_found found = w->found;
    found.class = class;
    if (!sim_race_again(class, found.after.place, found.before.place))
        sim_race_add(&found);
}

static void end_wait(int32_t i, sim_race_class class) {
    const waiting ended = waits[i];
    --sim_guesses_waiting;
    memmove(&waits[i], &waits[i + 1], (size_t)(sim_guesses_waiting - i) * sizeof waits[0]);
    tell(&ended, class);
}

void sim_guess_end(void) {
    while (sim_guesses_waiting > 0)
        end_wait(0, SIM_RACE);
}

static bool is_of(const sim_guess_reader *r, uint32_t serial, int32_t thread,
                  const volatile char *address) {
    return r->serial == serial && r->thread == thread && r->address == address;
}

void sim_guess_wait(const sim_race_found *found, const sim_guess_reader *reader,
                    const volatile char *value) {
    for (int32_t i = 0; i < sim_guesses_waiting; ++i) {
        const waiting *w = &waits[i];
        if (is_of(&w->reader, reader->serial, reader->thread, reader->address) &&
            w->found.after.place == found->after.place &&
            w->found.before.place == found->before.place)
            return;
    }
    if (sim_guesses_waiting == WAITING)
        end_wait(0, SIM_RACE);
    waiting *w = &waits[sim_guesses_waiting++];
    *w = (waiting){.found = *found, .reader = *reader, .knows_value = value != NULL};
    for (uint32_t i = 0; value && i < reader->bytes; ++i)
        w->value[i] = value[i]; /* memcpy would be recorded (race_access.c) */
}

void sim_guess_again(const sim_word_access *a) {
    for (int32_t i = sim_guesses_waiting - 1; i >= 0; --i)
        if (is_of(&waits[i].reader, a->serial, sim_running_now.thread, a->address))
            end_wait(i, SIM_RACE);
}

void sim_guess_compared(const sim_word_access *a) {
    const uint32_t bytes = (uint32_t)__builtin_popcount(sim_entry_bytes(a->what));
    for (int32_t i = sim_guesses_waiting - 1; i >= 0; --i) {
        const waiting *w = &waits[i];
        if (!is_of(&w->reader, a->serial, sim_running_now.thread, a->address))
            continue;
        const bool same =
            w->reader.bytes == bytes && (!w->knows_value || memcmp(w->value, a->value, bytes) == 0);
        end_wait(i, same ? SIM_RACE_GUESS : SIM_RACE);
    }
}

bool sim_guess_holds(const sim_word_access *a) {
    const int n = __builtin_popcount(sim_entry_bytes(a->what));
    for (int i = 0; i < n; ++i)
        if (a->address[i] != a->value[i])
            return false;
    return true;
}
