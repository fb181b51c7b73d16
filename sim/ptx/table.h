/* Instructions as data. */
#ifndef ASSAY_SIM_PTX_TABLE_H
#define ASSAY_SIM_PTX_TABLE_H

#include "sim/ptx/emit.h"

/*
 * name      base and the parts that it must have, in their order: "mul.hi"
 * optional  parts that it may have: "ftz sat"; "*": any
 * types     the types that it has, in their order; several alternatives: "u32 s32", "u32.s32"
 * operands  how each is used: "=..." is written, all others are read; a word for each:
 *             t the last type, T the first, w twice as wide as t, b and B the bits of t and T,
 *             a type's name,
 *             [shared], [] an address in that space, in the instruction's own,
 *             # a constant, - not at all,
 *             =t|pred a pair of results: the low bits of a 64-bit one, and bit 32
 * code      the value of the first operand where that is written, otherwise a statement:
 *             $1 the operand 1 (the first is 0), $t $T the names of the types, $c $w the C types of
 *             t and of w, $b the bits of t, $r the rounding, $(part) whether it has that part, $@
 *             where it stands
 * form      emits what no template can
 *
 * With `.ftz`, operands and results of type f32 are flushed, with `.sat` results clamped, without
 * a word of that here.
 */
typedef struct instruction_row {
    const char *name, *optional, *types, *operands, *code;
    emit_form *form;
} instruction_row;

extern const instruction_row instruction_rows[];
extern const size_t n_instruction_rows;

#endif
