/*
 * Misaligned addresses in kernels of C++, which a GPU stops at. They are compiled with
 * -fsanitize=alignment, and call this function before such an access; nothing of
 * UndefinedBehaviorSanitizer's runtime is linked. Its own takes over in builds with
 * -DASSAY_SANITIZE.
 */
#include "sim/asan.h"
#include "sim/block.h"
#include "sim/defect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(SIM_ASAN)

/* As gcc and clang lay it out. */
typedef struct mismatch {
    const char *file;
    uint32_t line, column;
    const struct {
        uint16_t kind, information;
        char name[]; /* in quotes */
    } * type;
    uint8_t log_alignment, access;
} mismatch;

/* "'const struct float4'": what it is called in CUDA. */
static int name_of(const char *quoted, const char **name) {
    static const char *const words[] = {"const ", "volatile ", "struct "};
    *name = quoted + (*quoted == '\'');
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (strncmp(*name, words[i], strlen(words[i])) == 0)
            *name += strlen(words[i]);
    return (int)strcspn(*name, "'");
}

void __ubsan_handle_type_mismatch_v1_abort(const mismatch *m, uintptr_t address);
SIM_REPORT void __ubsan_handle_type_mismatch_v1_abort(const mismatch *m, uintptr_t address) {
    char where[SIM_POSITION];
    const char *name;
    const int length = name_of(m->type->name, &name);
    const unsigned alignment = 1u << m->log_alignment;
    if (sim_now.kernel == NULL || sim_now.thread < 0) {
        fprintf(stderr, "%s:%u: %.*s at %p, which is not aligned to %u\n", m->file, m->line, length,
                name, (void *)address, alignment);
        abort();
    }
    sim_defect("misaligned address", m->file, (int)m->line,
               "%s accesses %.*s at an address not aligned to %u",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), length, name,
               alignment);
    sim_abandon();
}

#endif
