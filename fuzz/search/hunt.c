#include "fuzz/search/hunt.h"
#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 2 * FUZZ_GENERATION_MOST, /* cases that may be out beyond the settled ones */
    RELATION_EVERY = 4,               /* cases for each one that is also held against a relation */
    TICK = 200,                       /* ms */
};

static const double keep_seconds = 30, show_seconds = 0.2;

/* A case that is out, or judged and waiting for those before it. */
typedef struct slot {
    int64_t index;
    bool judged;
    int32_t target;
    assay_case c;
    double seconds;
    fuzz_result result;
} slot;

/* A failure to shrink. */
typedef struct wish {
    fuzz_finding finding;
    assay_case c; /* that failed */
    bool out, done;
} wish;

/* How often one kind of failure was met. */
typedef struct tally {
    int32_t target;
    fuzz_failure like;
    int64_t count;
} tally;

typedef struct run {
    const fuzz_hunt *hunt;
    fuzz_state *state;
    int32_t *turn; /* targets, in the order of their cases */
    int32_t n_turns;
    slot *slot;   /* case i's is i % AHEAD */
    int64_t next; /* first case that is not out */
    int64_t end;  /* of the generation that is settled now: the first case of the next one */
    wish *wish;
    int32_t n_wishes, wish_room, told;
    tally *tally;
    int32_t n_tallies, tally_room;
    double start, before; /* of this run; seconds of the runs before it */
    double kept, shown;   /* when the state was */
} run;

static double age(const run *r) {
    return r->before + now() - r->start;
}

void fuzz_state_clear(fuzz_state *state) {
    fuzz_population_clear(&state->population);
    fuzz_findings_clear(&state->findings);
    *state = (fuzz_state){0};
}

void fuzz_state_count(fuzz_state *state, const fuzz_result *result) {
    state->passed += result->passed;
    state->mistrusted += result->mistrusted;
    state->skipped += result->skipped;
    state->failed += result->n_failures;
    state->declined += result->declined;
    ++state->settled;
}

/* ---- cases ---- */

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for a campaign's cases");
}

/* The end of the generation whose first case is `first`. */
static int64_t generation_end(int64_t first) {
    const int64_t size = first / 2;
    return first + (size < FUZZ_GENERATION_LEAST  ? FUZZ_GENERATION_LEAST
                    : size > FUZZ_GENERATION_MOST ? FUZZ_GENERATION_MOST
                                                  : size);
}

/* The end of the generation that has case `index`. */
static int64_t end_of_generation_with(int64_t index) {
    int64_t end = generation_end(0);
    while (end <= index)
        end = generation_end(end);
    return end;
}

/* Members of the population that case `index` of this campaign may have for a parent. */
static int32_t parents(const run *r, int64_t index) {
    return r->state->before[index < r->end];
}

/* Operators have their turns one after the other, those of whose cases even small ones take long in
 * one of some rounds: time is what they share. */
static int32_t rounds_for_one(const assay_op *op) {
    enum { BEARABLE = 4, SELDOM = 16 };
    return (int32_t)fmin(fmax(op->overhead / BEARABLE, 1), SELDOM);
}

static assay_status list_turns(run *r) {
    const fuzz_workers *workers = r->hunt->workers;
    int32_t rounds = 1, most = 1;
    for (int32_t t = 0; t < workers->n_targets; ++t) {
        const int32_t each = rounds_for_one(workers->target[t].op);
        most = each > most ? each : most;
    }
    while (rounds < most)
        rounds *= 2;
    r->turn = calloc((size_t)(uint32_t)rounds * (uint32_t)workers->n_targets, sizeof *r->turn);
    if (!r->turn)
        return no_memory();
    for (int32_t round = 0; round < rounds; ++round)
        for (int32_t t = 0; t < workers->n_targets; ++t)
            if ((round + t) % rounds_for_one(workers->target[t].op) == 0)
                r->turn[r->n_turns++] = t;
    return ASSAY_OK;
}

static assay_status make_case(const run *r, int64_t index, int32_t *target, assay_case *c) {
    const fuzz_hunt *h = r->hunt;
    const int64_t whole = h->shard + index * h->shards;
    assay_rng rng = {
        .seed = h->seed, .stream = assay_rng_stream("fuzz guide"), .next = (uint64_t)whole * 16};
    *target = r->turn[whole / h->stretch % r->n_turns];
    const fuzz_source *source = &h->source[*target];
    const fuzz_member *parent = NULL;
    if (h->guided && assay_rng_between(&rng, 0, 1) == 0)
        parent = fuzz_population_choose(&r->state->population, *target, parents(r, index), &rng);
    return parent ? fuzz_source_alter(source, whole, &parent->c, c)
                  : fuzz_source_draw(source, whole, c);
}

static bool more_cases(const run *r) {
    const fuzz_hunt *h = r->hunt;
    const bool time = !(h->seconds > 0) || age(r) < h->seconds;
    return time && !(h->first && r->n_wishes > 0) && (h->cases == 0 || r->next < h->cases);
}

static bool may_begin(const run *r) {
    return r->next < generation_end(r->end);
}

static assay_status give_case(run *r) {
    slot *s = &r->slot[r->next % AHEAD];
    fuzz_task task = {.number = r->next, .relation = FUZZ_NO_RELATION};
    const assay_status status = make_case(r, r->next, &task.target, &task.c);
    if (status != ASSAY_OK)
        return status;
    const int64_t whole = r->hunt->shard + r->next * r->hunt->shards;
    if (whole % RELATION_EVERY == 0)
        task.relation = whole / RELATION_EVERY;
    *s = (slot){.index = r->next++, .target = task.target, .c = task.c};
    return fuzz_workers_give(r->hunt->workers, &task);
}

/* ---- shrinking ---- */

/* Room for one more of `size` bytes in a list; NULL: there is none. */
static void *with_room(void *list, int32_t count, int32_t *room, size_t size) {
    if (count < *room)
        return list;
    *room = *room > 0 ? 2 * *room : 32;
    return realloc(list, (size_t)*room * size);
}

/* How often this kind was met, this time included; 0: no memory. */
static int64_t meet(run *r, int32_t target, const fuzz_failure *f) {
    for (int32_t i = 0; i < r->n_tallies; ++i) {
        tally *t = &r->tally[i];
        if (t->target == target && t->like.kind == f->kind &&
            strcmp(t->like.variant, f->variant) == 0 && strcmp(t->like.relation, f->relation) == 0)
            return ++t->count;
    }
    tally *larger = with_room(r->tally, r->n_tallies, &r->tally_room, sizeof *larger);
    if (!larger)
        return 0;
    r->tally = larger;
    r->tally[r->n_tallies++] = (tally){.target = target, .like = *f, .count = 1};
    return 1;
}

/* The first ones, and ever fewer: one bug is met again and again, another may hide behind it. */
static bool worth_shrinking(int64_t count) {
    while (count % 10 == 0)
        count /= 10;
    return count <= 3;
}

static assay_status want_shrunk(run *r, const slot *s, const fuzz_failure *f) {
    const int64_t count = meet(r, s->target, f);
    if (count == 0)
        return no_memory();
    if (!worth_shrinking(count))
        return ASSAY_OK;
    wish *larger = with_room(r->wish, r->n_wishes, &r->wish_room, sizeof *larger);
    if (!larger)
        return no_memory();
    r->wish = larger;
    wish *w = &r->wish[r->n_wishes++];
    *w = (wish){.finding = {.target = s->target,
                            .failure = *f,
                            .first = r->hunt->shard + s->index * r->hunt->shards,
                            .seconds = s->seconds},
                .c = s->c};
    assay_case_format(&s->c, w->finding.found);
    assay_case_format(&s->c, w->finding.shrunk);
    w->done = f->kind == FUZZ_WORKER_DIED; /* it would only take another one down */
    return ASSAY_OK;
}

static wish *next_wish(run *r) {
    for (int32_t i = 0; i < r->n_wishes; ++i)
        if (!r->wish[i].out && !r->wish[i].done)
            return &r->wish[i];
    return NULL;
}

static assay_status give_wish(run *r, wish *wanted) {
    fuzz_task task = {.number = wanted - r->wish,
                      .target = wanted->finding.target,
                      .shrink = true,
                      .c = wanted->c,
                      .failure = wanted->finding.failure};
    wanted->out = true;
    return fuzz_workers_give(r->hunt->workers, &task);
}

/* A variant that did not answer in time once, and did when it was asked again, has not failed: it
 * was a case of much work on a busy host. */
static bool only_slow(const wish *w) {
    return w->finding.failure.kind == FUZZ_HANG && !w->finding.again;
}

/* Findings are told in the order in which they were met. */
static assay_status tell_findings(run *r, bool all) {
    while (r->told < r->n_wishes && (all || r->wish[r->told].done)) {
        const wish *w = &r->wish[r->told++];
        const fuzz_finding *f = &w->finding;
        if (only_slow(w)) {
            --r->state->failed;
            continue;
        }
        const int32_t count = r->state->findings.count;
        const assay_status status = fuzz_findings_add(&r->state->findings, f);
        if (status != ASSAY_OK)
            return status;
        if (r->state->findings.count > count)
            r->hunt->found(f, r->hunt->context);
    }
    return ASSAY_OK;
}

/* ---- results ---- */

static assay_status settle(run *r, const slot *s) {
    fuzz_state *state = r->state;
    fuzz_state_count(state, &s->result);
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < s->result.n_failures; ++i)
        status = want_shrunk(r, s, &s->result.failure[i]);
    if (status == ASSAY_OK)
        status = fuzz_population_offer(&state->population, s->target, &s->c, &s->result);
    if (state->settled == r->end) {
        r->end = generation_end(r->end);
        state->before[1] = state->before[0];
        state->before[0] = state->population.count;
    }
    return status;
}

static assay_status settle_all(run *r) {
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && r->state->settled < r->next) {
        slot *s = &r->slot[r->state->settled % AHEAD];
        if (!s->judged)
            break;
        status = settle(r, s);
    }
    return status;
}

static assay_status take(run *r, const fuzz_job *job) {
    if (job->task.shrink) {
        wish *w = &r->wish[job->task.number];
        w->done = true;
        w->finding.again = job->shrunk.again;
        w->finding.smallest = job->shrunk.smallest;
        assay_case_format(&job->shrunk.c, w->finding.shrunk);
        return tell_findings(r, false);
    }
    slot *s = &r->slot[job->task.number % AHEAD];
    s->result = job->result;
    s->seconds = age(r);
    s->judged = true;
    return settle_all(r);
}

/* ---- the whole ---- */

/* Gives what there is to give; *idle: there was nothing for one of them. */
static assay_status hand_out(run *r) {
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && !fuzz_workers_is_full(r->hunt->workers)) {
        wish *wanted = next_wish(r);
        if (wanted)
            status = give_wish(r, wanted);
        else if (more_cases(r) && may_begin(r))
            status = give_case(r);
        else
            break;
    }
    return status;
}

/* With the failures that are still being shrunk, as they were met: a run that goes on from this
 * state does not meet them again. */
static assay_status keep_state(const run *r) {
    fuzz_state state = *r->state;
    state.findings = (fuzz_findings){0};
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < r->state->findings.count; ++i)
        status = fuzz_findings_add(&state.findings, &r->state->findings.finding[i]);
    for (int32_t i = r->told; status == ASSAY_OK && i < r->n_wishes; ++i)
        if (!only_slow(&r->wish[i]))
            status = fuzz_findings_add(&state.findings, &r->wish[i].finding);
    if (status == ASSAY_OK)
        status = r->hunt->keep(&state, r->hunt->context);
    fuzz_findings_clear(&state.findings);
    return status;
}

static assay_status keep(run *r) {
    r->state->seconds = age(r);
    if (r->state->seconds >= r->shown + show_seconds) {
        r->shown = r->state->seconds;
        r->hunt->progress(r->state, r->hunt->context);
    }
    if (r->state->seconds < r->kept + keep_seconds)
        return ASSAY_OK;
    r->kept = r->state->seconds;
    return keep_state(r);
}

static assay_status go_on(run *r) {
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && !r->hunt->interrupted()) {
        const fuzz_job *job = NULL;
        status = hand_out(r);
        if (status == ASSAY_OK && fuzz_workers_is_idle(r->hunt->workers))
            break;
        if (status == ASSAY_OK)
            status = fuzz_workers_wait(r->hunt->workers, TICK, &job);
        if (status == ASSAY_OK && job)
            status = take(r, job);
        if (status == ASSAY_OK)
            status = keep(r);
    }
    return status;
}

assay_status fuzz_hunt_run(const fuzz_hunt *hunt, fuzz_state *state) {
    run r = {.hunt = hunt,
             .state = state,
             .next = state->settled,
             .end = end_of_generation_with(state->settled),
             .start = now(),
             .before = state->seconds,
             .kept = state->seconds,
             .shown = state->seconds};
    assay_status status = ASSAY_OK;
    r.slot = calloc(AHEAD, sizeof *r.slot);
    if (!r.slot)
        status = no_memory();
    if (status == ASSAY_OK)
        status = list_turns(&r);
    if (status == ASSAY_OK)
        status = go_on(&r);
    if (status == ASSAY_OK)
        status = tell_findings(&r, true);
    state->seconds = age(&r);
    free(r.turn);
    free(r.slot);
    free(r.wish);
    free(r.tally);
    return status;
}
