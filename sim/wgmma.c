/*
 * wgmma.mma_async. The lanes of a warp meet at it, as `.aligned` asks; the product of a warpgroup
 * is computed once its four warps have come, at once or when the first of them waits. A warp takes
 * 16 rows of the product, and its fragments lie in its lanes as those of mma.sync do.
 */
#include "sim/operation.h"
#include "sim/proxy.h"

#include "sim/defect.h"
#include "sim/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 16,
    WARPS = 4,
    ROWS = 64,
    LANES = WARPS * SIM_WARP,
    GROUPS = SIM_MAX_THREADS / LANES,
    MOST_COLUMNS = 256,
    MOST_K = 32,
    MOST_WORDS = MOST_COLUMNS / 2,
    REMEMBERED = 8, /* groups that a wait may leave out */
    PER_TAG = 7,    /* bits of a word's number in a tag */
};
/* NaNs, which no sum is. Sums of bytes may be any integer: theirs are tagged by those that only a
 * sum of 2^16 products or more can reach. */
#define TAG         UINT32_C(0xffe00000)
#define INTEGER_TAG UINT32_C(0x80200000)
#define TAG_MASK    UINT32_C(0xffe00000)
#define TAG_COUNT   (UINT32_C(1) << 14)

typedef struct product {
    struct product *next;
    uint32_t number; /* of its warpgroup, counted */
    uint32_t warps;  /* that have come, a bit each */
    uint32_t waited; /* lanes */
    bool done;
    bool superseded; /* a later one adds to its sums */
    sim_wgmma w;
    sim_site site;
    uint32_t a[LANES][4];
    uint32_t c[LANES][MOST_WORDS];
    uint32_t *where[LANES];
} product;

typedef struct warpgroup {
    product *first, *last;
    product *found; /* the last that a tag named */
    uint32_t issued[WARPS];
} warpgroup;

struct sim_wgmmas {
    warpgroup group[GROUPS];
    struct {
        uint32_t commits, ends[REMEMBERED]; /* how many were issued at the last commits */
        uint32_t waited;                    /* products before this one have been waited for */
        bool fenced;
    } thread[SIM_MAX_THREADS];
};
const size_t sim_wgmmas_bytes = sizeof(struct sim_wgmmas);
static struct sim_wgmmas *now; /* of the block that runs */

void sim_wgmmas_use(struct sim_wgmmas *wgmmas) {
    now = wgmmas;
}

static void drop_first(warpgroup *g) {
    product *p = g->first;
    g->first = p->next;
    g->last = g->first != NULL ? g->last : NULL;
    g->found = NULL;
    free(p);
}

void sim_wgmmas_begin(void) {
    for (int32_t i = 0; i < GROUPS; ++i) {
        while (now->group[i].first != NULL)
            drop_first(&now->group[i]);
        now->group[i] = (warpgroup){0};
    }
    memset(now->thread, 0, (size_t)sim_now.n_threads * sizeof now->thread[0]);
}

static warpgroup *own_group(void) {
    return &now->group[sim_now.thread / LANES];
}

static uint32_t own_issued(void) {
    return own_group()->issued[sim_now.thread / SIM_WARP % WARPS];
}

/* ---- where matrices lie ---- */

typedef struct matrix {
    uint64_t descriptor;
    bool transposed;
    uint32_t bytes; /* of an element */
    uint32_t sign;  /* turns it, or 0 */
    const sim_site *site;
} matrix;

static bool is_tf32(const sim_wgmma *w) {
    return w->product == SIM_M16N8K8_TF32;
}

static bool is_integer(const sim_wgmma *w) {
    return w->product == SIM_M16N8_INTEGERS;
}

/* Of a factor. */
static uint32_t bytes_of(const sim_wgmma *w) {
    return is_tf32(w) ? 4 : is_integer(w) ? 1 : 2;
}

uint32_t sim_wgmma_words(const sim_wgmma *w) {
    return w->columns / 8 * (w->product == SIM_M16N8K16_F16_F16 ? 2 : 4);
}

static uint32_t k_of(const sim_wgmma *w) {
    return 32 / bytes_of(w);
}

static uint32_t offset_of(const matrix *m, uint32_t i, uint32_t k) {
    return sim_wgmma_offset(m->descriptor, m->transposed, m->bytes, i, k);
}

SIM_REPORT static void report_descriptor(const matrix *m, const char *what) {
    char where[SIM_POSITION];
    sim_defect("wrong wgmma", m->site->file, m->site->line, "%s: descriptor %016" PRIx64 ": %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), m->descriptor, what);
    sim_abandon();
}

static matrix matrix_of(const sim_wgmma *w, bool is_a, const sim_site *site) {
    const bool negated = is_a ? w->negate_a : w->negate_b;
    const matrix m = {
        .descriptor = is_a ? w->a : w->b,
        .transposed = is_a ? w->transposed_a : w->transposed_b,
        .bytes = bytes_of(w),
        .sign = !negated     ? 0
                : is_tf32(w) ? UINT32_C(1) << 31
                             : UINT32_C(1) << 15,
        .site = site,
    };
    if ((m.descriptor >> 49 & 7) != 0)
        report_descriptor(&m, "a base offset is not simulated");
    return m;
}

/* The recorder sees rows `first` to `first + n` of a matrix, a chunk at a time; all must lie in
 * shared memory. */
static void record(const matrix *m, uint32_t first, uint32_t n, uint32_t k, const sim_async *who) {
    const sim_range shared = sim_block_shared();
    const uint32_t per = CHUNK / m->bytes;
    const uint32_t step_i = m->transposed ? per : 1, step_k = m->transposed ? 1 : per;
    for (uint32_t i = first; i < first + n; i += step_i)
        for (uint32_t j = 0; j < k; j += step_k) {
            const uint32_t at = offset_of(m, i, j);
            if (at + CHUNK > (size_t)(shared.high - shared.low))
                report_descriptor(m, "its matrix does not lie in the block's shared memory");
            trace_async(who, shared.low + at, CHUNK, SIM_READS, m->site->file, m->site->line);
        }
}

static uint32_t element(const matrix *m, uint32_t i, uint32_t k) {
    const char *at = sim_block_shared().low + offset_of(m, i, k);
    uint32_t bits = 0;
    uint16_t half;
    if (m->bytes == sizeof bits) { /* of a size that the compiler knows: no call is recorded */
        memcpy(&bits, at, sizeof bits);
    } else if (m->bytes == sizeof half) {
        memcpy(&half, at, sizeof half);
        bits = half;
    } else {
        bits = (uint8_t)*at;
    }
    return bits ^ m->sign;
}

/* ---- a product ---- */

static uint32_t tags_of(const product *p) {
    return is_integer(&p->w) ? INTEGER_TAG : TAG;
}

static uint32_t tag_of(const product *p, uint32_t word) {
    return tags_of(p) | (p->number % TAG_COUNT) << PER_TAG | word;
}

static bool is_tag_of(const product *p, uint32_t word) {
    return (word & TAG_MASK) == tags_of(p) &&
           (word & ~TAG_MASK) >> PER_TAG == p->number % TAG_COUNT;
}

/* The product of this warpgroup that a tag names; NULL: it is none. A thread asks about one word
 * after another of the same product. */
static product *find_tagged(uint32_t word) {
    warpgroup *g = own_group();
    if ((word & TAG_MASK) != TAG && (word & TAG_MASK) != INTEGER_TAG)
        return NULL;
    if (g->found != NULL && is_tag_of(g->found, word))
        return g->found;
    product *p = g->first;
    while (p != NULL && !is_tag_of(p, word))
        p = p->next;
    return g->found = p;
}

/* A sum that was a tag when it was handed over, now that its product is done. */
static void settle_sums(const product *of, product *p) {
    const uint32_t n = sim_wgmma_words(&p->w);
    for (uint32_t lane = 0; lane < LANES; ++lane)
        for (uint32_t i = 0; i < n; ++i) {
            const uint32_t word = p->c[lane][i];
            if (is_tag_of(of, word))
                p->c[lane][i] = of->c[lane][word & ((1u << PER_TAG) - 1)];
        }
}

/* Four registers of a, as mma.sync has them in each warp. */
static void unpack_registers(const product *p, uint32_t *a) {
    const uint32_t k = k_of(&p->w), width = 8 * bytes_of(&p->w), per = 32 / width;
    const uint32_t sign = p->w.negate_a ? UINT32_C(1) << (width - 1) : 0;
    for (uint32_t t = 0; t < LANES; ++t)
        for (uint32_t r = 0; r < 4; ++r)
            for (uint32_t h = 0; h < per; ++h) {
                const uint32_t i = t / 32 * 16 + t % 32 / 4 + 8 * (r & 1);
                const uint32_t at = per * (t % 4 + 4 * (r >> 1)) + h;
                const uint32_t bits = p->a[t][r] >> width * h & UINT32_MAX >> (32 - width);
                a[i * k + at] = bits ^ sign;
            }
}

static void compute(product *p) {
    static uint32_t a[ROWS * MOST_K], b[MOST_COLUMNS * MOST_K];
    const matrix from_a = matrix_of(&p->w, true, &p->site),
                 from_b = matrix_of(&p->w, false, &p->site);
    const uint32_t k = k_of(&p->w);
    uint32_t *c[LANES];
    for (uint32_t i = 0; p->w.registers == NULL && i < ROWS; ++i)
        for (uint32_t j = 0; j < k; ++j)
            a[i * k + j] = element(&from_a, i, j);
    if (p->w.registers != NULL)
        unpack_registers(p, a);
    for (uint32_t i = 0; i < p->w.columns; ++i)
        for (uint32_t j = 0; j < k; ++j)
            b[i * k + j] = element(&from_b, i, j);
    for (uint32_t t = 0; t < LANES; ++t)
        c[t] = p->c[t];
    if (is_integer(&p->w))
        sim_wgmma_compute_integers(p->w.integers, p->w.columns, a, b, c);
    else
        sim_wgmma_compute(p->w.product, p->w.columns, a, b, c);
    p->done = true;
    for (product *later = p->next; later != NULL; later = later->next)
        settle_sums(p, later);
}

/* Those before `until` are done; false: a warp has not come to one of them. */
static bool compute_until(warpgroup *g, uint32_t until) {
    for (product *p = g->first; p != NULL && p->number < until; p = p->next) {
        if (p->warps != (1u << WARPS) - 1)
            return false;
        if (!p->done)
            compute(p);
    }
    return true;
}

/* ---- issue ---- */

typedef struct request {
    const sim_wgmma *w;
    uint32_t *c;
    const sim_site *site;
} request;

SIM_REPORT static void report(const char *kind, const sim_site *site, const char *what) {
    char where[SIM_POSITION];
    sim_defect(kind, site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

/* And where the product stands. */
SIM_REPORT static void report_product(const product *p, const sim_site *site, const char *what) {
    char text[240];
    snprintf(text, sizeof text, "%s the wgmma of %s:%d, which no wgmma.wait_group covers yet", what,
             sim_base_name(p->site.file), p->site.line);
    report("wgmma under way", site, text);
}

static bool same_product(const sim_wgmma *v, const sim_wgmma *w) {
    return v->product == w->product && v->integers == w->integers && v->columns == w->columns &&
           v->b == w->b && (v->registers != NULL) == (w->registers != NULL) &&
           (v->registers != NULL || v->a == w->a) && v->negate_a == w->negate_a &&
           v->negate_b == w->negate_b && v->transposed_a == w->transposed_a &&
           v->transposed_b == w->transposed_b && v->zero == w->zero;
}

static product *product_of(warpgroup *g, uint32_t number, const request *r) {
    product *p = g->first;
    while (p != NULL && p->number != number)
        p = p->next;
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        report("wrong wgmma", r->site, "there is no memory for its sums");
    p->number = number;
    p->w = *r->w;
    p->site = *r->site;
    if (g->last != NULL)
        g->last->next = p;
    else
        g->first = p;
    return g->last = p;
}

static void take_lane(product *p, uint32_t lane, const request *r) {
    const uint32_t n = sim_wgmma_words(r->w);
    if (r->w->registers != NULL)
        memcpy(p->a[lane], r->w->registers, sizeof p->a[lane]);
    p->where[lane] = r->w->in_place ? r->c : NULL;
    for (uint32_t i = 0; i < n; ++i) {
        product *before = r->w->zero ? NULL : find_tagged(r->c[i]);
        p->c[lane][i] = r->w->zero ? 0 : r->c[i];
        if (before != NULL && before->done)
            p->c[lane][i] = before->c[lane][r->c[i] & ((1u << PER_TAG) - 1)];
        if (before != NULL)
            before->superseded = true;
        r->c[i] = tag_of(p, i);
    }
}

/* The last of its warps has issued it. */
static void count(const sim_wgmma *w) {
    if (is_integer(w)) /* from PTX alone, whose kernels are not counted */
        return;
    trace_count(is_tf32(w)                        ? SIM_EVENT_WGMMA_TF32
                : w->product == SIM_M16N8K16_BF16 ? SIM_EVENT_WGMMA_BF16
                                                  : SIM_EVENT_WGMMA_F16,
                1);
    trace_count(SIM_EVENT_MULTIPLY_ADDS, (uint64_t)ROWS * w->columns * k_of(w));
}

void sim_wgmma_meet(int32_t warp, const uint64_t values[SIM_WARP]) {
    warpgroup *g = &now->group[warp / WARPS];
    const uint32_t own = (uint32_t)warp % WARPS;
    const request *first = (const request *)(uintptr_t)values[0];
    const uint32_t number = g->issued[own]++;
    product *p = product_of(g, number, first);
    if ((warp - (int32_t)own + WARPS) * SIM_WARP > sim_now.n_threads)
        report("wrong wgmma", first->site, "its warpgroup has fewer than four warps");
    for (uint32_t lane = 0; lane < SIM_WARP; ++lane) {
        const request *r = (const request *)(uintptr_t)values[lane];
        if (!same_product(r->w, &p->w))
            report("wrong wgmma", r->site,
                   "lanes of one warpgroup come with different descriptors or shapes");
        take_lane(p, own * SIM_WARP + lane, r);
    }
    const sim_async who = trace_agent(SIM_AGENT_WGMMA, (uint32_t)(warp / WARPS), number);
    const matrix a = matrix_of(&p->w, true, &p->site), b = matrix_of(&p->w, false, &p->site);
    if (p->w.registers == NULL)
        record(&a, 16 * own, 16, k_of(&p->w), &who);
    record(&b, 0, p->w.columns, k_of(&p->w), &who);
    p->warps |= 1u << own;
    if (p->warps == (1u << WARPS) - 1)
        count(&p->w);
    if (p->warps == (1u << WARPS) - 1 && !sim_schedule_delays())
        (void)compute_until(g, number + 1);
    sim_progress();
}

void sim_wgmma_issue(const sim_wgmma *w, uint32_t *c, const sim_site *site) {
    const request r = {w, c, site};
    if (!now->thread[sim_now.thread].fenced)
        report("missing wgmma.fence", site,
               "the first wgmma of a thread comes behind a wgmma.fence, which orders registers");
    (void)sim_meet(SIM_WGMMA, UINT32_MAX, (uint64_t)(uintptr_t)&r, 0, SIM_WARP, site->file,
                   site->line);
}

void sim_wgmma_fence(void) {
    now->thread[sim_now.thread].fenced = true;
}

void sim_wgmma_commit(void) {
    const int32_t t = sim_now.thread;
    now->thread[t].ends[now->thread[t].commits++ % REMEMBERED] = own_issued();
}

/* ---- the wait ---- */

/* Sums whose registers are memory of the thread come there. */
static void deliver(const product *p, uint32_t lane) {
    uint32_t *to = p->where[lane];
    const uint32_t n = sim_wgmma_words(&p->w);
    for (uint32_t i = 0; to != NULL && i < n; ++i)
        if (to[i] == tag_of(p, i))
            to[i] = p->c[lane][i];
}

void sim_wgmma_wait(uint32_t groups, const sim_site *site) {
    const int32_t t = sim_now.thread;
    warpgroup *g = own_group();
    const uint32_t commits = now->thread[t].commits;
    if (groups >= REMEMBERED || commits <= groups)
        return;
    const uint32_t until = now->thread[t].ends[(commits - groups - 1) % REMEMBERED];
    while (!compute_until(g, until))
        sim_rest((sim_place){"wgmma.wait_group, for the other warps of the warpgroup to issue what "
                             "this one has,",
                             site->file, site->line});
    for (product *p = g->first; p != NULL && p->number < until; p = p->next) {
        if (p->number < now->thread[t].waited)
            continue;
        deliver(p, (uint32_t)t % LANES);
        ++p->waited;
    }
    if (until > now->thread[t].waited)
        now->thread[t].waited = until;
    trace_done(SIM_AGENT_WGMMA, (uint32_t)(t / LANES), until);
}

uint32_t sim_wgmma_result(uint32_t word) {
    const product *p = find_tagged(word);
    if (p == NULL || p->number >= now->thread[sim_now.thread].waited)
        return word;
    return p->c[sim_now.thread % LANES][word & ((1u << PER_TAG) - 1)];
}

/* The thread has taken the results of what it has waited for. */
void sim_wgmma_taken(void) {
    warpgroup *g = own_group();
    while (g->first != NULL && g->first->waited == LANES)
        drop_first(g);
}

bool sim_wgmma_is_pending(uint32_t word) {
    const product *p = find_tagged(word);
    return p != NULL && p->number >= now->thread[sim_now.thread].waited;
}

void sim_wgmma_touched(uint32_t word, const sim_site *site) {
    if (sim_wgmma_is_pending(word))
        report_product(find_tagged(word), site, "it reads a register with a sum of");
}

void sim_wgmma_overwritten(uint32_t word, const sim_site *site) {
    const product *p = find_tagged(word);
    if (sim_wgmma_is_pending(word) && !p->superseded)
        report_product(p, site, "it writes a register with a sum of");
}

uint32_t sim_wgmma_issued(void) {
    return own_issued();
}

void sim_wgmma_factor_written(uint32_t issued, const sim_site *site) {
    const product *p = own_group()->first;
    while (p != NULL && p->number + 1 != issued)
        p = p->next;
    if (p != NULL && issued > now->thread[sim_now.thread].waited)
        report_product(p, site, "it writes a register with factors of");
}

void sim_wgmma_unfenced(const sim_site *site) {
    report("missing wgmma.fence", site,
           "a register of it was written behind the last wgmma.fence, which orders registers");
}
