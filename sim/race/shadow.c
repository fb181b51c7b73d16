#include "sim/race/shadow.h"
#include "sim/allocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct sim_recent sim_recent[SIM_RECENT];

static struct {
    sim_page *pages; /* by a hash of the number, open addressing */
    size_t n, room;
    size_t bytes, most; /* of cells */
    uint64_t unwatched; /* pages asked for in vain */
    uint64_t launch;    /* the number of the last one */
    uint32_t first;     /* serial of its blocks */
    uintptr_t *touched; /* numbers of the pages that it accessed */
    size_t n_touched, room_touched;
} shadow;

/* Zeroed; pages that are never touched cost nothing. NULL: no memory. */
static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "assay: no memory to record accesses; choose a smaller case\n");
        abort();
    }
    return memory;
}

static sim_page *slot_of(uintptr_t number) {
    const size_t mask = shadow.room - 1;
    size_t i = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 24);
    for (;; ++i)
        if (shadow.pages[i & mask].number == number || shadow.pages[i & mask].number == 0)
            return &shadow.pages[i & mask];
}

/* Pages move: none is kept beyond an access, except the recent ones. */
static void grow(void) {
    sim_page *old = shadow.pages;
    const size_t n = shadow.room;
    shadow.room = n == 0 ? 1024 : 2 * n;
    shadow.pages = need(calloc(shadow.room, sizeof *old));
    for (size_t i = 0; i < n; ++i)
        if (old[i].number != 0)
            *slot_of(old[i].number) = old[i];
    free(old);
    memset(sim_recent, 0, sizeof sim_recent);
}

/* Half of the memory that the host has free when it is first asked for. */
static size_t most_bytes(void) {
    const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (size_t)pages / 2 * (size_t)size : SIZE_MAX;
}

/* Cells come in pieces of many pages. */
static sim_cell *take_cells(void) {
    enum { PIECE = 64 };
    static sim_cell *left;
    static int n_left;
    if (n_left == 0) {
        const size_t bytes = (size_t)PIECE * SIM_PAGE_WORDS * sizeof(sim_cell);
        if (shadow.most == 0)
            shadow.most = most_bytes();
        left = shadow.bytes + bytes <= shadow.most ? map(bytes) : NULL;
        if (!left)
            return NULL;
        shadow.bytes += bytes;
        n_left = PIECE;
    }
    sim_cell *cells = left;
    left += SIM_PAGE_WORDS;
    --n_left;
    return cells;
}

static void note_touched(sim_page *page) {
    page->launch = shadow.launch;
    if (shadow.n_touched == shadow.room_touched) {
        shadow.room_touched = 2 * shadow.room_touched + 1024;
        shadow.touched =
            need(realloc(shadow.touched, shadow.room_touched * sizeof *shadow.touched));
    }
    shadow.touched[shadow.n_touched++] = page->number;
}

sim_page *sim_shadow_find(uintptr_t number) {
    if (2 * (shadow.n + 1) > shadow.room)
        grow();
    sim_page *page = slot_of(number);
    if (page->number == 0) {
        sim_cell *cells = take_cells();
        if (!cells) {
            ++shadow.unwatched;
            return NULL;
        }
        *page = (sim_page){.number = number, .cell = cells};
        ++shadow.n;
    }
    if (page->launch != shadow.launch)
        note_touched(page);
    sim_recent[number % SIM_RECENT] =
        (struct sim_recent){number, page, sim_is_allocated_whole((number - 1) * SIM_PAGE)};
    return page;
}

void sim_shadow_launch(uint32_t first) {
    memset(sim_recent, 0, sizeof sim_recent);
    ++shadow.launch;
    shadow.first = first;
    shadow.n_touched = 0;
}

/* Bytes of a word that entries of the last launch read (0) and wrote (1). */
static void bytes_of_word(const sim_cell *cell, uint32_t bytes[2]) {
    bytes[0] = bytes[1] = 0;
    for (int i = 0; i < SIM_CELL_ENTRIES && cell->entry[i].serial != 0; ++i) {
        const uint32_t what = cell->entry[i].what;
        if (cell->entry[i].serial >= shadow.first)
            bytes[(what & SIM_WRITES) != 0] |= what >> SIM_BYTES_SHIFT & 15;
    }
}

typedef struct run { /* of bytes of one kind, that is not told yet */
    uintptr_t low, high;
} run;

static void extend(run *r, uintptr_t at, size_t bytes, bool writes, sim_shadow_see *see) {
    if (r->high != at) {
        if (r->high > r->low)
            see(r->low, r->high, writes);
        r->low = at;
    }
    r->high = at + bytes;
}

static void see_page(const sim_page *page, sim_shadow_see *see) {
    uintptr_t at = (page->number - 1) * SIM_PAGE;
    run runs[2] = {{at, at}, {at, at}};
    for (size_t word = 0; word < SIM_PAGE_WORDS; ++word, at += SIM_WORD) {
        uint32_t bytes[2];
        bytes_of_word(&page->cell[word], bytes);
        for (int i = 0; i < 2; ++i) {
            if (bytes[i] == 15)
                extend(&runs[i], at, SIM_WORD, i == 1, see);
            else
                for (size_t b = 0; b < SIM_WORD; ++b)
                    if ((bytes[i] >> b & 1) != 0)
                        extend(&runs[i], at + b, 1, i == 1, see);
        }
    }
    for (int i = 0; i < 2; ++i)
        if (runs[i].high > runs[i].low)
            see(runs[i].low, runs[i].high, i == 1);
}

void sim_shadow_each(sim_shadow_see *see) {
    for (size_t i = 0; i < shadow.n_touched; ++i) {
        const sim_page *page = slot_of(shadow.touched[i]);
        if (page->written == NULL) /* not shared memory */
            see_page(page, see);
    }
}

sim_more *sim_shadow_more(sim_page *page) {
    if (!page->more)
        page->more = need(map(SIM_PAGE_WORDS * sizeof(sim_more)));
    return page->more;
}

void sim_shadow_unwritten(sim_range shared) {
    for (const char *at = shared.low; at < shared.high;) {
        const char *end = at + (SIM_PAGE - (uintptr_t)at % SIM_PAGE);
        sim_page *page = sim_shadow_page(at);
        const size_t first = (uintptr_t)at % SIM_PAGE / SIM_WORD;
        end = end < shared.high ? end : shared.high;
        if (page && !page->written)
            page->written = need(calloc(1, SIM_PAGE_WORDS));
        if (page)
            memset(page->written + first, 0, ((size_t)(end - at) + SIM_WORD - 1) / SIM_WORD);
        at = end;
    }
}

static void guard_word(sim_page *page, size_t word, unsigned bytes, bool on) {
    page->guarded[word] =
        (unsigned char)(on ? page->guarded[word] | bytes : page->guarded[word] & ~bytes);
}

void sim_shadow_guard(void *memory, size_t bytes, bool on) {
    const char *const high = (const char *)memory + bytes;
    for (const char *at = memory; at < high;) {
        const size_t first = (uintptr_t)at % SIM_WORD, left = (size_t)(high - at);
        const size_t count = SIM_WORD - first < left ? SIM_WORD - first : left;
        const size_t words = first == 0 ? left / SIM_WORD : 0; /* whole ones */
        const size_t word = (uintptr_t)at % SIM_PAGE / SIM_WORD;
        sim_page *page = sim_shadow_page(at);
        if (page && !page->guarded && on)
            page->guarded = need(calloc(1, SIM_PAGE_WORDS));
        if (words == 0) {
            if (page && page->guarded)
                guard_word(page, word, ((1u << count) - 1) << first, on);
            at += count;
            continue;
        }
        const size_t n = SIM_PAGE_WORDS - word < words ? SIM_PAGE_WORDS - word : words;
        if (page && page->guarded)
            memset(page->guarded + word, on ? (1 << SIM_WORD) - 1 : 0, n);
        at += n * SIM_WORD;
    }
}

bool sim_shadow_is_guarded(const volatile void *address) {
    const uintptr_t at = (uintptr_t)address;
    const sim_page *page = sim_shadow_page(address);
    return page && page->guarded &&
           (page->guarded[at % SIM_PAGE / SIM_WORD] >> at % SIM_WORD & 1) != 0;
}

uint64_t sim_shadow_unwatched(void) {
    const uint64_t n = shadow.unwatched;
    shadow.unwatched = 0;
    return n;
}
