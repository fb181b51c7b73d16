#include "sim/count/count_lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARPS = SIM_MAX_THREADS / SIM_WARP, SLOTS = 1 << 16 };

/* A place in the code, for one warp and one purpose. */
typedef struct site {
    uint64_t place;
    int32_t warp;
    sim_purpose purpose;
    uint32_t count[SIM_WARP]; /* accesses of each lane since the warp converged */
    sim_request *request;     /* the n-th access of every lane */
    uint32_t n, room;
    struct site *next; /* of the warp's that have requests */
} site;

static struct {
    site *site[SLOTS]; /* of this launch, by hash */
    int32_t n_sites;
    site *pending[MAX_WARPS];
} sites;

void *sim_count_must(void *memory) {
    if (!memory) {
        fprintf(stderr, "assay: no memory to count accesses; choose a smaller case\n");
        abort();
    }
    return memory;
}

static uint64_t hash(uint64_t place, int32_t warp) {
    return (place * MAX_WARPS + (uint64_t)warp) * 0x9e3779b97f4a7c15u >> 48;
}

static bool same(sim_purpose a, sim_purpose b) {
    return a.kind == b.kind && a.shared == b.shared && a.copies == b.copies;
}

static site *find(uint64_t place, sim_purpose wanted) {
    const int32_t warp = sim_now.thread / SIM_WARP;
    uint64_t slot = hash(place, warp) % SLOTS;
    for (; sites.site[slot]; slot = (slot + 1) % SLOTS) {
        site *s = sites.site[slot];
        if (s->place == place && s->warp == warp && same(s->purpose, wanted))
            return s;
    }
    if (++sites.n_sites == SLOTS)
        sim_count_must(NULL);
    site *s = sites.site[slot] = sim_count_must(calloc(1, sizeof *s));
    s->place = place;
    s->warp = warp;
    s->purpose = wanted;
    return s;
}

static sim_request *next_request(site *s, int32_t lane) {
    const uint32_t i = s->count[lane]++;
    if (s->n == 0) {
        s->next = sites.pending[s->warp];
        sites.pending[s->warp] = s;
    }
    if (i >= s->room) {
        s->room = s->room == 0 ? 4 : 2 * s->room;
        s->request = sim_count_must(realloc(s->request, s->room * sizeof *s->request));
    }
    for (; s->n <= i; ++s->n)
        s->request[s->n].lanes = 0;
    return &s->request[i];
}

void sim_lanes_note(sim_purpose purpose, uint64_t place, uintptr_t address, size_t bytes) {
    const int32_t lane = sim_now.thread % SIM_WARP;
    sim_request *r = next_request(find(place, purpose), lane);
    r->lanes |= 1u << lane;
    r->address[lane] = address;
    r->bytes[lane] = (uint8_t)bytes;
}

void sim_lanes_converge(int32_t warp, sim_request_taker take) {
    for (site *s = sites.pending[warp]; s; s = s->next) {
        for (uint32_t i = 0; i < s->n; ++i)
            if (s->request[i].lanes != 0)
                take(s->purpose, &s->request[i]);
        s->n = 0;
        memset(s->count, 0, sizeof s->count);
    }
    sites.pending[warp] = NULL;
}

void sim_lanes_level(int32_t warp, uint32_t lanes) {
    for (site *s = sites.pending[warp]; s; s = s->next) {
        uint32_t most = 0;
        for (int32_t l = 0; l < SIM_WARP; ++l)
            if ((lanes >> l & 1) && s->count[l] > most)
                most = s->count[l];
        for (int32_t l = 0; l < SIM_WARP; ++l)
            if (lanes >> l & 1)
                s->count[l] = most;
    }
}

void sim_lanes_forget(void) {
    for (size_t i = 0; i < SLOTS && sites.n_sites > 0; ++i) {
        if (!sites.site[i])
            continue;
        free(sites.site[i]->request);
        free(sites.site[i]);
        sites.site[i] = NULL;
        --sites.n_sites;
    }
    memset(sites.pending, 0, sizeof sites.pending); /* of a launch that was abandoned */
}
