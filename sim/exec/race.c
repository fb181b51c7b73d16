#include "sim/exec/race.h"

#include "sim/exec/memory.h"
#include "sim/ptx/heap.h"
#include "sim/ptx/launch.h"
#include "sim/race/race.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "byte 12 of allocation 3 (cudaMalloc, 4000 bytes)" */
static bool describe(const volatile void *address, char *text, size_t size) {
    const char *at = (const char *)(uintptr_t)address;
    const exec_allocation *a = exec_memory_find(at);
    const exec_variable *v = a == NULL ? exec_variable_at(at) : NULL;
    if (a != NULL)
        snprintf(text, size, "byte %td of allocation %" PRIu64 " (%s, %zu bytes)", at - a->low,
                 a->number, a->call, a->bytes);
    else if (v != NULL)
        snprintf(text, size, "byte %td of variable %s", at - v->address, v->name);
    return a != NULL || v != NULL || ptx_heap_describe(address, text, size);
}

bool exec_race_records(void) {
    const char *wanted = getenv(EXEC_RACE_VARIABLE);
    return wanted != NULL && strcmp(wanted, "on") == 0;
}

void exec_race_module(ptx_module *module) {
    if (!exec_race_records())
        return;
    sim_race_describe = describe;
    sim_race_fails_launch(false);
    ptx_module_record(module, true);
}

static uint64_t mix(uint64_t hash, const char *text) {
    for (; *text != '\0'; ++text)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

/* One pair of places, in either order, is one problem, however many launches have it. */
static uint64_t key_of(const exec_kernel *k, const sim_race *r) {
    uint64_t places = 0;
    for (int i = 0; i < (r->before.line > 0 ? 2 : 1); ++i) {
        const sim_source *s = i == 0 ? &r->after : &r->before;
        places += mix(UINT64_C(0xcbf29ce484222325) + (uint64_t)s->line, s->file);
    }
    return mix(places, k->name) | 1;
}

void exec_race_tell(const exec_kernel *k) {
    static const exec_problem_kind kinds[SIM_RACE_CLASSES] = {
        [SIM_RACE] = EXEC_PROBLEM_RACE,        [SIM_RACE_EQUAL] = EXEC_PROBLEM_EQUAL,
        [SIM_RACE_GUESS] = EXEC_PROBLEM_GUESS, [SIM_UNINITIALISED] = EXEC_PROBLEM_UNINITIALISED,
        [SIM_BEYOND] = EXEC_PROBLEM_KERNEL,    [SIM_STRAY] = EXEC_PROBLEM_KERNEL,
        [SIM_MISSED] = EXEC_PROBLEM_KERNEL,
    };
    const uint64_t unwatched = sim_race_unwatched();
    for (int32_t i = 0; i < sim_race_count(); ++i) {
        const sim_race *r = sim_race_at(i);
        exec_problem_keyed(k->name, r->path, kinds[r->class], key_of(k, r), "%s:%d: %s in %s: %s",
                           r->after.file, r->after.line, sim_race_name(r->class),
                           k->function->own_name, r->text);
    }
    if (unwatched > 0)
        exec_remark("%s: the host's memory does not suffice to record all accesses; races in the "
                    "rest of the memory are not seen",
                    k->function->own_name);
}
