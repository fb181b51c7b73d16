#include "sim/ptx/heap.h"

#include "sim/race/shadow.h"
#include "sim/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Pieces of 2^c bytes lie in order of their addresses, each with a gap that no kernel may touch. */
enum { LEAST = 4, CLASSES = 40, GAP = 64 };
static const size_t reserved = (size_t)1 << 36; /* addresses */

typedef enum state { FREE, TAKEN, RETURNED } state;

typedef struct piece {
    char *at;
    uint64_t bytes;      /* that were asked for */
    int32_t class, next; /* of its class, while it is free */
    state state;
} piece;

static struct {
    char *low;
    size_t end; /* of all pieces */
    piece *piece;
    int32_t n, room;
    int32_t first[CLASSES]; /* free ones, 1 + number; 0: none */
    uint64_t limit, used;
    bool returned; /* since the launch began */
} heap = {.limit = 8 << 20};

void ptx_heap_limit(uint64_t bytes) {
    heap.limit = bytes;
}

static int32_t class_of(uint64_t bytes) {
    int32_t c = LEAST;
    while (c < CLASSES - 1 && (UINT64_C(1) << c) < bytes)
        ++c;
    return c;
}

/* Shared between processes, as all memory of the device. */
static bool reserve(void) {
    if (heap.low != NULL)
        return true;
    void *memory = mmap(NULL, reserved, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    heap.low = memory;
    return true;
}

static piece *new_piece(int32_t class) {
    const size_t step = ((size_t)1 << class) + GAP;
    if (!reserve() || heap.end + step + GAP > reserved)
        return NULL;
    if (heap.n == heap.room) {
        const int32_t room = 2 * heap.room + 64;
        piece *grown = realloc(heap.piece, (size_t)room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        heap.piece = grown;
        heap.room = room;
    }
    if (heap.n == 0)
        sim_shadow_guard(heap.low, heap.end = GAP, true);
    piece *p = &heap.piece[heap.n++];
    *p = (piece){.at = heap.low + heap.end, .class = class};
    heap.end += step;
    return p;
}

static piece *piece_of(int32_t class) {
    const int32_t i = heap.first[class];
    if (i == 0)
        return new_piece(class);
    heap.first[class] = heap.piece[i - 1].next;
    return &heap.piece[i - 1];
}

void *ptx_heap_take(uint64_t bytes) {
    if (heap.used > heap.limit || bytes > heap.limit - heap.used)
        return NULL;
    piece *p = piece_of(class_of(bytes));
    if (p == NULL)
        return NULL;
    const size_t room = (size_t)1 << p->class;
    p->bytes = bytes;
    p->state = TAKEN;
    heap.used += bytes;
    sim_shadow_guard(p->at, room + GAP, true);
    sim_shadow_guard(p->at, bytes, false);
    memset(p->at, 0xff, bytes);
    return p->at;
}

/* The last that begins there or before; NULL: there is none. */
static piece *piece_at(const char *at) {
    int32_t low = 0, high = heap.n;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (heap.piece[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &heap.piece[low - 1] : NULL;
}

bool ptx_heap_describe(const volatile void *address, char *text, size_t size) {
    const char *at = (const char *)(uintptr_t)address;
    const piece *p = heap.low != NULL && at < heap.low + heap.end ? piece_at(at) : NULL;
    if (p == NULL)
        return false;
    const uint64_t offset = (uint64_t)(at - p->at);
    if (offset >= p->bytes)
        snprintf(text, size, "byte %" PRIu64 " behind %" PRIu64 " from malloc()", offset - p->bytes,
                 p->bytes);
    else
        snprintf(text, size, "byte %" PRIu64 " of %" PRIu64 " %s", offset, p->bytes,
                 p->state == TAKEN ? "from malloc()" : "that were freed");
    return true;
}

void ptx_heap_return(void *memory, const sim_site *site) {
    if (memory == NULL)
        return;
    piece *p = piece_at(memory);
    if (p != NULL && p->at != memory)
        p = NULL;
    if (p == NULL || p->state == FREE)
        sim_trap("wrong free", "free() of what malloc() has not given", site->file, site->line);
    else if (p->state == RETURNED)
        sim_trap("wrong free", "free() of what has been freed", site->file, site->line);
    if (p == NULL || p->state != TAKEN)
        return;
    p->state = RETURNED;
    heap.used -= p->bytes;
    heap.returned = true;
    sim_shadow_guard(p->at, p->bytes, true);
}

void ptx_heap_settle(void) {
    for (int32_t i = 0; heap.returned && i < heap.n; ++i) {
        piece *p = &heap.piece[i];
        if (p->state != RETURNED)
            continue;
        p->state = FREE;
        p->next = heap.first[p->class];
        heap.first[p->class] = i + 1;
    }
    heap.returned = false;
}
