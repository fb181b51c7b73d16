/* Names for addresses of this program, for messages: slow, and asked for only when there is one. */
#ifndef ASSAY_SIM_SYMBOL_H
#define ASSAY_SIM_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

enum { SIM_SYMBOL_TEXT = 128 };

/* Where an instruction is in the source; without debug information or addr2line (binutils): the
 * object's file and the offset in it, and line 0. */
typedef struct sim_source {
    char file[SIM_SYMBOL_TEXT];
    int line;
} sim_source;

/* The source of the instruction before `return_address`: the innermost frame outside of the
 * simulated device's own headers. Asks addr2line once for each address. */
sim_source sim_symbol_source(uintptr_t return_address);

/* Writes "name+offset" of the variable that holds `address`, or an object's file and the offset in
 * it. Returns `text`. */
const char *sim_symbol_variable(const void *address, char text[SIM_SYMBOL_TEXT]);

#endif
