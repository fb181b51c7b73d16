#include "mutants/planted_search.h"

#include "fuzz/search/sets.h"

#include <math.h>
#include <stdlib.h>

/* A fault that so many cases with its predicate did not show is not found: each costs a check. */
enum { TRIES = 12 };

static const char *const v1[] = {"v1"};

typedef struct search {
    const planted_plan *plan;
    const assay_op *op;
    planted_row *row;
    int32_t count, *tried;
    planted_finder finder;
} search;

static bool is_open(const search *s, int32_t i) {
    return !s->row[i].found[s->finder] && s->tried[i] < TRIES;
}

/* A campaign's largest cases are rare, and making their data is slow: faults of data are not looked
 * for in them, so that fuzz finds no fewer than the table says. */
static bool is_too_large(const search *s, const assay_case *c) {
    double size = 1;
    for (int32_t k = 0; k < c->params.count; ++k)
        for (int32_t i = 0; i < c->params.item[k].count; ++i)
            size *= fmax(1, (double)c->params.item[k].value[i]);
    return s->finder >= PLANTED_SHORT && size > FUZZ_SIM_BUDGET;
}

/* Tries the case on each fault that is not found yet and whose predicate holds. */
static assay_status try_case(const assay_case *c, void *context) {
    search *s = context;
    assay_signature sig;
    assay_problem problem = {0};
    bool loaded = false;
    const bool has_data = c->fill != ASSAY_FILL_GOLDEN && !is_too_large(s, c);
    assay_status status = assay_case_signature(c, &sig);
    for (int32_t i = 0; status == ASSAY_OK && i < s->count; ++i) {
        const planted *fault = &s->row[i].fault;
        const bool data = planted_needs_data(fault);
        if (!is_open(s, i) || (data && !has_data))
            continue;
        if (data && !loaded) {
            status = assay_problem_init(&problem, c);
            loaded = status == ASSAY_OK;
        }
        if (status == ASSAY_OK && planted_holds(fault, c, &sig, data ? &problem : NULL)) {
            ++s->tried[i];
            status = planted_is_found(fault, c, s->plan->device, &s->row[i].found[s->finder]);
        }
    }
    if (loaded)
        assay_problem_clear(&problem);
    assay_signature_clear(&sig);
    /* A case that cannot be made here shows nothing. */
    return status == ASSAY_ERR_UNSUPPORTED || status == ASSAY_ERR_USAGE ? ASSAY_OK : status;
}

static bool any_open(const search *s) {
    for (int32_t i = 0; i < s->count; ++i)
        if (is_open(s, i))
            return true;
    return false;
}

/* Nightly holds the cases of ci. */
static assay_status look_in_set(search *s, assay_set set) {
    for (int32_t i = 0; i < s->count; ++i) {
        s->tried[i] = 0;
        s->row[i].found[PLANTED_NIGHTLY] = s->row[i].found[PLANTED_CI];
    }
    return fuzz_set_visit(s->op, set, s->plan->device, v1, 1, s->plan->seed, try_case, try_case, s);
}

static assay_status campaign(search *s, int64_t from, int64_t to) {
    fuzz_source source = {.op = s->op, .seed = s->plan->seed, .budget = FUZZ_SIM_BUDGET};
    assay_status status = ASSAY_OK;
    fuzz_source_edges(&source, s->plan->device, v1, 1);
    for (int64_t i = from; status == ASSAY_OK && i < to && any_open(s); ++i) {
        assay_case c;
        if (s->plan->interrupted())
            return assay_fail(ASSAY_ERR_UNSUPPORTED, "interrupted");
        status = fuzz_source_draw(&source, i, &c);
        if (status == ASSAY_OK)
            status = try_case(&c, s);
    }
    return status;
}

/* The long campaign begins with the cases of the short one. */
static assay_status look_in_campaigns(search *s) {
    for (int32_t i = 0; i < s->count; ++i)
        s->tried[i] = 0;
    s->finder = PLANTED_SHORT;
    const assay_status status = campaign(s, 0, s->plan->cases[PLANTED_SHORT]);
    for (int32_t i = 0; i < s->count; ++i)
        s->row[i].found[PLANTED_LONG] = s->row[i].found[PLANTED_SHORT];
    s->finder = PLANTED_LONG;
    return status == ASSAY_OK
               ? campaign(s, s->plan->cases[PLANTED_SHORT], s->plan->cases[PLANTED_LONG])
               : status;
}

assay_status planted_search(const planted_plan *plan, const assay_op *op, planted_row **row,
                            int32_t *count) {
    planted_site site[PLANTED_SITES];
    const int32_t sites = planted_sites(op, site);
    search s = {.plan = plan, .op = op, .count = sites * plan->each};
    s.row = calloc((size_t)s.count, sizeof *s.row);
    s.tried = calloc((size_t)s.count, sizeof *s.tried);
    assay_status status = ASSAY_OK;
    if (!s.row || !s.tried)
        status =
            assay_fail(ASSAY_ERR_MEMORY, "no memory for so many planted faults; ask for fewer");
    for (int32_t i = 0; status == ASSAY_OK && i < s.count; ++i) {
        s.row[i].site = site[i / plan->each];
        planted_draw(op, s.row[i].site, plan->seed, i % plan->each, &s.row[i].fault);
    }
    if (status == ASSAY_OK)
        status = look_in_set(&s, ASSAY_CI);
    s.finder = PLANTED_NIGHTLY;
    if (status == ASSAY_OK)
        status = look_in_set(&s, ASSAY_NIGHTLY);
    if (status == ASSAY_OK)
        status = look_in_campaigns(&s);
    free(s.tried);
    if (status != ASSAY_OK) {
        free(s.row);
        return status;
    }
    *row = s.row;
    *count = s.count;
    return ASSAY_OK;
}
