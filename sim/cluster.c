#include "sim/cluster.h"

#include <stdio.h>
#include <stdlib.h>

struct sim_cluster {
    sim_cluster *next; /* of all that live */
    uint32_t n, ended; /* blocks that have begun; a bit for each that has ended */
    sim_range shared[SIM_MOST_CLUSTER];
    uint32_t live, arrived; /* threads */
    uint32_t phases;        /* of its barrier, complete */
    bool made;              /* the recorder knows the barrier */
    struct arrival {
        uint32_t phase; /* that the thread has arrived for */
        bool came;      /* and not waited */
    } thread[];
};

static uint32_t shape[3] = {1, 1, 1};
static struct {
    sim_cluster *cluster;
    uint32_t rank;
} now; /* of the block that runs */
static sim_cluster *all;
static struct {
    sim_cluster *cluster; /* that has ended; the next one has its memory, warm in the cache */
    size_t n;             /* threads */
} spare;

void sim_cluster_shape(const uint32_t next[3]) {
    for (int i = 0; i < 3; ++i)
        shape[i] = next[i] > 0 ? next[i] : 1;
}

uint32_t sim_cluster_size(void) {
    return shape[0] * shape[1] * shape[2];
}

uint64_t sim_cluster_count(const sim_launch *l) {
    return (uint64_t)(l->grid.x / shape[0]) * (l->grid.y / shape[1]) * (l->grid.z / shape[2]);
}

uint64_t sim_cluster_block(const sim_launch *l, uint64_t cluster, uint32_t rank) {
    const uint64_t nx = l->grid.x / shape[0], ny = l->grid.y / shape[1];
    const uint64_t x = cluster % nx * shape[0] + rank % shape[0];
    const uint64_t y = cluster / nx % ny * shape[1] + rank / shape[0] % shape[1];
    const uint64_t z = cluster / nx / ny * shape[2] + rank / shape[0] / shape[1];
    return x + l->grid.x * (y + l->grid.y * z);
}

static size_t n_threads(void) {
    return (size_t)sim_cluster_size() * (size_t)sim_now.n_threads;
}

/* A cluster that never came to its barrier has left its threads' arrivals as they were, unset. */
sim_cluster *sim_cluster_begin(void) {
    const bool fits = spare.cluster != NULL && spare.n == n_threads() && !spare.cluster->made;
    sim_cluster *c = fits ? spare.cluster
                          : calloc(1, sizeof(sim_cluster) + n_threads() * sizeof(struct arrival));
    if (c == NULL)
        return NULL;
    if (fits) {
        spare.cluster = NULL;
        *c = (sim_cluster){0};
    }
    c->next = all;
    all = c;
    return c;
}

/* Of the launch that runs, so with as many threads as the next one has. */
static void release(sim_cluster *c) {
    sim_cluster **link = &all;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    free(spare.cluster);
    spare.cluster = c;
    spare.n = n_threads();
}

void sim_clusters_forget(void) {
    while (all != NULL)
        release(all);
    now.cluster = NULL;
}

uint32_t sim_cluster_join(sim_cluster *c, const sim_range *shared) {
    c->shared[c->n] = *shared;
    c->live += (uint32_t)sim_now.n_threads;
    return c->n++;
}

void sim_cluster_use(sim_cluster *c, uint32_t rank) {
    now.cluster = c;
    now.rank = rank;
}

void sim_cluster_leave(sim_cluster *c, uint32_t rank) {
    c->ended |= 1u << rank;
    if (c->ended == (1u << c->n) - 1)
        release(c);
}

uint32_t sim_cluster_rank(void) {
    return now.rank;
}

bool sim_cluster_find(const volatile void *address, uint32_t *rank, sim_range *range) {
    const sim_cluster *c = now.cluster;
    for (uint32_t r = 0; c != NULL && c->n > 1 && r < c->n; ++r)
        if ((c->ended >> r & 1) == 0 && sim_in_range(&c->shared[r], address)) {
            *rank = r;
            *range = c->shared[r];
            return true;
        }
    return false;
}

/* ---- its barrier ---- */

static struct arrival *own(void) {
    return &now.cluster->thread[now.rank * (uint32_t)sim_now.n_threads + (uint32_t)sim_now.thread];
}

static void complete(sim_cluster *c) {
    if (c->arrived < c->live || c->arrived == 0)
        return;
    c->arrived = 0;
    ++c->phases;
    trace_mbarrier(SIM_MBARRIER_COMPLETE, c, 0);
    sim_progress();
}

SIM_REPORT static void report(const char *kind, const char *what, const sim_site *site) {
    char where[SIM_POSITION];
    sim_defect(kind, site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

void sim_cluster_arrive(bool releases, const sim_site *site) {
    sim_cluster *c = now.cluster;
    if (own()->came)
        report("wrong cluster barrier", "it arrives again and has not waited", site);
    if (!c->made)
        trace_mbarrier(SIM_MBARRIER_INIT, c, 0);
    c->made = true;
    *own() = (struct arrival){c->phases, true};
    ++c->arrived;
    trace_mbarrier(SIM_MBARRIER_ARRIVE, c, !releases);
    complete(c);
}

void sim_cluster_wait(bool acquires, const sim_site *site) {
    sim_cluster *c = now.cluster;
    if (!own()->came)
        report("wrong cluster barrier", "it waits and has not arrived", site);
    const uint32_t phase = own()->phase;
    while (c->phases == phase)
        sim_rest((sim_place){"barrier.cluster.wait", site->file, site->line});
    own()->came = false;
    if (acquires)
        trace_mbarrier(SIM_MBARRIER_WAIT, c, phase & 1);
}

/* A thread that has ended counts as arrived. */
void sim_cluster_exit(void) {
    sim_cluster *c = now.cluster;
    if (c == NULL)
        return;
    --c->live;
    c->arrived -= own()->came && own()->phase == c->phases;
    complete(c);
}

/* ---- addresses ---- */

static char *base_of(uint32_t rank, const sim_site *site) {
    const sim_cluster *c = now.cluster;
    char what[120];
    if (rank >= c->n) {
        snprintf(what, sizeof what, "there is no block %u in a cluster of %u", rank, c->n);
        report("wrong cluster rank", what, site);
    }
    if ((c->ended >> rank & 1) != 0) {
        snprintf(what, sizeof what,
                 "it accesses shared memory of block %u of its cluster, which has "
                 "exited",
                 rank);
        report("exited block", what, site);
    }
    return c->shared[rank].low;
}

char *sim_cluster_address(uint32_t address, const sim_site *site) {
    const uint32_t rank = address >> SIM_CLUSTER_SHIFT;
    return base_of(rank == 0 ? now.rank : rank - 1, site) +
           (address & ((1u << SIM_CLUSTER_SHIFT) - 1));
}

uint32_t sim_cluster_map(uint32_t address, uint32_t rank, const sim_site *site) {
    (void)base_of(rank, site);
    return (address & ((1u << SIM_CLUSTER_SHIFT) - 1)) | (rank + 1) << SIM_CLUSTER_SHIFT;
}

char *sim_cluster_map_generic(const void *address, uint32_t rank, const sim_site *site) {
    uint32_t from;
    sim_range range;
    if (now.cluster->n == 1)
        range = now.cluster->shared[0];
    else if (!sim_cluster_find(address, &from, &range))
        report("wrong cluster address", "mapa of an address that is not in shared memory", site);
    return base_of(rank, site) + ((const char *)address - range.low);
}
