/*
 * Part of a shared object that is loaded before the test program (LD_PRELOAD), with an operator's
 * oracle as a mutant has it: puts that in the place of the program's own, before any test is
 * registered. Compiled by oracle_check.c, with GRAFT_OP the oracle's symbol.
 */
#include "assay/op.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRAFT_TEXT(symbol) #symbol
#define GRAFT_NAME(symbol) GRAFT_TEXT(symbol)
#define GRAFT_IS_NO_ORACLE 99

extern const assay_op GRAFT_OP;

/* The pages that hold it are the program's constants. */
static int make_writable(void *from, size_t bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)from / page * page;
    const uintptr_t last = ((uintptr_t)from + bytes + page - 1) / page * page;
    return mprotect((char *)from - ((uintptr_t)from - first), last - first, PROT_READ | PROT_WRITE);
}

__attribute__((constructor)) static void graft(void) {
    void *program = dlopen(NULL, RTLD_NOW);
    void *own = program ? dlsym(program, GRAFT_NAME(GRAFT_OP)) : NULL;
    if (!own || own == (const void *)&GRAFT_OP || make_writable(own, sizeof GRAFT_OP) != 0) {
        fputs("graft: the program has no " GRAFT_NAME(GRAFT_OP) "\n", stderr);
        _exit(GRAFT_IS_NO_ORACLE);
    }
    memcpy(own, &GRAFT_OP, sizeof GRAFT_OP);
    unsetenv("LD_PRELOAD"); /* processes that tests start need no oracle, and lack its symbols */
}
