#include "sim/exec/guard.h"

#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct pages {
    uintptr_t low, high;
} pages;

enum { MOST_RANGES = 1024 };
static pages watched[MOST_RANGES];
static int n_watched;
static struct sigaction before;

static uintptr_t page_bytes(void) {
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

/* The pages of an allocation that lie within [low, high) with all that they hold of it. */
static pages whole_pages(const exec_allocation *a, uintptr_t low, uintptr_t high) {
    const uintptr_t page = page_bytes(), first = (uintptr_t)a->low, end = first + a->bytes;
    const uintptr_t from = low <= first ? (uintptr_t)a->pages : (low + page - 1) / page * page;
    const uintptr_t to = high >= end ? (uintptr_t)a->pages + a->page_bytes : high / page * page;
    return (pages){from, to};
}

/* Reads are told first, so that the protection against both prevails. */
static void watch(uintptr_t low, uintptr_t high, bool writes) {
    const exec_allocation *a = exec_memory_find((const void *)low);
    const pages p = whole_pages(a, low, high);
    if (n_watched == MOST_RANGES || p.low >= p.high)
        return;
    if (mprotect((void *)p.low, p.high - p.low, writes ? PROT_NONE : PROT_READ) == 0)
        watched[n_watched++] = p;
}

static const pages *find(const void *address) {
    for (int i = 0; i < n_watched; ++i)
        if ((uintptr_t)address >= watched[i].low && (uintptr_t)address < watched[i].high)
            return &watched[i];
    return NULL;
}

/* The program's own code came here: it goes on, and the page is open until its next call. */
static void touched(int number, siginfo_t *info, void *context) {
    enum { WRITE = 2 }; /* of the processor's error code */
    const ucontext_t *at = context;
    const uintptr_t page = page_bytes(), low = (uintptr_t)info->si_addr / page * page;
    if (find(info->si_addr) == NULL) { /* not ours: the instruction fails again */
        sigaction(number, &before, NULL);
        return;
    }
    (void)exec_overlap_tell_host(info->si_addr, (at->uc_mcontext.gregs[REG_ERR] & WRITE) != 0);
    (void)mprotect((void *)low, page, PROT_READ | PROT_WRITE);
}

void exec_guard_close(void) {
    const struct sigaction action = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO};
    if (n_watched == 0) {
        exec_overlap_in_use(watch);
        if (n_watched > 0)
            sigaction(SIGSEGV, &action, &before);
    }
}

void exec_guard_open(void) {
    if (n_watched == 0)
        return;
    for (int i = 0; i < n_watched; ++i)
        (void)mprotect((void *)watched[i].low, watched[i].high - watched[i].low,
                       PROT_READ | PROT_WRITE);
    n_watched = 0;
    sigaction(SIGSEGV, &before, NULL);
}
