/* A module as its room knows it. */
#ifndef ASSAY_SIM_PTX_INTERNAL_H
#define ASSAY_SIM_PTX_INTERNAL_H

#include "sim/ptx/device/context.h"
#include "sim/ptx/launch.h"
#include "sim/ptx/tree.h"

typedef bool ptx_entry(const ptx_context *x);

/* A kernel's code, once it is compiled. */
typedef struct ptx_compiled {
    void *object; /* dlopen's; NULL: not compiled yet */
    ptx_entry *entry;
    const ptx_site *sites;
    size_t n_sites;
} ptx_compiled;

struct ptx_module {
    arena memory;
    tree tree;
    ptx_function *kernels; /* these and the next two by the kernel's number */
    const function **functions;
    ptx_compiled *compiled;
    bool records, proxies; /* proxies: as sim_launch has it */
    int32_t n_kernels;
    char **globals;  /* by index: where each lies */
    char *variables; /* one mapping with all of them; NULL: it has no variables */
    size_t variable_bytes;
    ptx_unknown *unknown;
    int32_t n_unknown, room_for_unknown;
};

/* Makes C code a loaded object, or finds it in the cache; `name` is its name in messages. Errors as
 * ptx_launch() has them. */
assay_status ptx_build(const char *code, const char *name, ptx_compiled *compiled) ASSAY_MUST_CHECK;
void ptx_unload(ptx_compiled *compiled);

/* The same into a folder, from which ptx_build() takes it where PTX_PREPARED_VARIABLE names that.
 */
assay_status ptx_store(const char *code, const char *name, const char *folder) ASSAY_MUST_CHECK;

/* The functions of the table; the launch sets the thread that runs and the memory. */
void ptx_context_fill(ptx_context *x);

/* Device printf, as ptx_context documents it. */
int32_t ptx_print(const char *format, const char *arguments);

#endif
