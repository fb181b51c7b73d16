/*
 * Functions as C. A register is a local variable, a jump a goto, an access a plain one. An
 * instruction that concerns other threads is a call through ptx_context (device/context.h).
 *
 * The table (table.c) has the code of most instructions; forms of their own (form_*.c) emit the
 * rest.
 */
#ifndef ASSAY_SIM_PTX_EMIT_H
#define ASSAY_SIM_PTX_EMIT_H

#include "sim/ptx/tree.h"

/* The parts of its module that a kernel takes: functions that it may call, and the shared memory of
 * all. */
typedef struct kernel_parts {
    const function **functions; /* the kernel first */
    int32_t n_functions;
    uint64_t *shared;      /* by a symbol's id: its place */
    uint64_t shared_bytes; /* without the dynamic part */
    uint64_t dynamic;      /* where that begins */
    bool proxies;          /* it has instructions of the asynchronous proxy */
    bool indirect; /* it calls functions by address: all that have one in the module are parts */
} kernel_parts;

/*
 * Arithmetic in fp32 gives one NaN only, the host's gives others. Asking for it after every
 * operation would cost half of the compiler's time. A register that nothing but such arithmetic
 * writes therefore may hold any NaN (ORIGIN_ARITHMETIC); one becomes the other where something else
 * than arithmetic reads it.
 */
enum { ORIGIN_NONE, ORIGIN_ARITHMETIC, ORIGIN_OTHER };

/* Registers and wgmma (flow.c): may hold a sum that is under way; reaches a wgmma by moves; is
 * itself a sum, a factor, of a wgmma. */
enum { FLOW_SUM = 1, FLOW_TAKEN = 2, FLOW_RESULT = 4, FLOW_FACTOR = 8 };

/* Finds them; false: there is no wgmma. */
bool flow_find(const function *f);
bool is_plain_move(const statement *s);
bool is_wgmma(const statement *s);

/* add, fma, ... of fp32. */
bool is_arithmetic(const statement *s, const ptx_type *last);

/* Its blocks may run at the same time and leave the same bits (blocks.c). */
bool blocks_unordered(const kernel_parts *parts);

/*
 * What a program sees as a function's address: the same in all kernels of its module, each of which
 * has a copy of the function. No memory lies there.
 */
static inline uint64_t function_address(const function *f) {
    return UINT64_C(0xf) << 60 | (uint64_t)f->symbol->id << 4;
}

/* The name of what a call calls: a function, or a register with its address; NULL: none. */
const operand *call_target(const statement *s);

kernel_parts parts_of(const tree *t, const function *kernel, arena *memory);

/* Told of what is not known; `what`: its opcode, or words for what it asks for. */
typedef void emit_note(void *context, const function *f, const statement *s, const char *what);

typedef struct emitter {
    const tree *tree;
    arena *memory;
    const kernel_parts *parts;
    growing code, sites;
    int32_t n_sites;
    place last_site;
    const function *function;
    const statement *now;
    bool *passed;             /* by a label's id: it is above */
    bool any_nan;             /* the instruction does not care which NaN it reads */
    const ptx_type *types[4]; /* of the instruction, in its order */
    uint32_t n_types;
    int32_t n_temporaries;
    jmp_buf unknown;
    const char *missing; /* what the instruction asks for, if it is not known */
    emit_note *note;
    void *note_context;
} emitter;

/* The C code of a kernel and of all that it calls; `records`: it tells of its accesses; `note`: or
 * NULL. */
const char *emit_kernel(const tree *t, const function *kernel, bool records, arena *memory,
                        emit_note *note, void *note_context);

/* The file and line of a statement: the source's, or the text's own where no `.loc` says it. */
const char *emit_file(const tree *t, const statement *s);
int32_t emit_line(const tree *t, const statement *s);

/* ---- for the forms */

/* Gives up on the instruction. */
_Noreturn void emit_unknown(emitter *e);

void emit(emitter *e, const char *format, ...) ASSAY_PRINTF(2, 3);
const char *emit_text(emitter *e, const char *format, ...) ASSAY_PRINTF(2, 3);

/* The instruction has this part. */
bool emit_has(const emitter *e, const char *part);
/* The first of several, "rn rz rm rp", that it has; NULL: none. */
const char *emit_one_of(const emitter *e, const char *parts);
const char *emit_flag(const emitter *e, const char *part); /* "true", "false" */

/* A C expression of type->c, and a statement that gives a register a value of that type. */
const char *emit_read(emitter *e, const operand *o, const ptx_type *type);
void emit_write(emitter *e, const operand *o, const ptx_type *type, const char *value);
/* Floating-point operands and results with .ftz and .sat. */
const char *emit_read_flushed(emitter *e, const operand *o, const ptx_type *type);
const char *emit_flushed(emitter *e, const ptx_type *type, const char *value);

/* A C expression of type char *: an operand [a + offset] in a state space; "" is generic. */
const char *emit_address(emitter *e, const operand *o, const char *space);
/* The instruction's state space: "shared", "global", ...; "": generic. */
const char *emit_space(const emitter *e);

/* The C variable of a register; NULL: it is none. *flow: as flow.c found. */
const char *emit_register(emitter *e, const operand *o, uint8_t *flow);

/* "&sites[3]": where the instruction stands. */
const char *emit_site(emitter *e);

/* A name for a local variable. */
const char *emit_temporary(emitter *e);
const char *emit_label(emitter *e, const operand *o);
const char *emit_function_name(emitter *e, const function *f);
/* "RN" and so on. */
const char *emit_rounding(const emitter *e);

/* An instruction that the table has no template for. */
typedef void emit_form(emitter *e, const statement *s);
emit_form form_load, form_store, form_atomic, form_fence, form_copy, form_load_matrix,
    form_store_matrix, form_multiply, form_wmma_load, form_wmma_store, form_wmma_multiply,
    form_wgmma, form_wgmma_wait, form_tensor_copy, form_texture, form_gather, form_surface,
    form_move, form_video, form_compare, form_convert, form_call, form_branch, form_branch_index,
    form_return, form_exit;

/* Emits the instruction by the table; does not return where no row fits. */
void emit_by_table(emitter *e, const statement *s);

#endif
