/* The parser's parts: text to a tree. All fail by a jump, with a line that names the place. */
#ifndef ASSAY_SIM_PTX_PARSE_H
#define ASSAY_SIM_PTX_PARSE_H

#include "sim/ptx/lex.h"
#include "sim/ptx/tree.h"

#include <setjmp.h>

enum { MOST_NESTED = 64, MOST_REGISTERS = 1 << 20, MOST_FILES = 1 << 20 };

typedef struct parser {
    lexer lexer;
    token now;
    tree *tree;
    scope *scope;
    scope *module, *home; /* its own scope; where what is being declared belongs */
    bool weak;            /* that may be defined in several modules */
    int32_t first_file;   /* of the module's files in the tree's list */
    function *function;
    place place;
    jmp_buf failed;
    int32_t depth;
    uint64_t registers; /* that families may still have: MOST_REGISTERS, and one a byte of text */
} parser;

_Noreturn void parse_fail(parser *p, const char *what);
void parse_advance(parser *p);

/* The token that is next: whether it is that, and taken if it is. */
bool parse_is(const parser *p, token_kind kind, const char *text);
bool parse_is_char(const parser *p, char c);
bool parse_accept(parser *p, char c);
bool parse_accept_dot(parser *p, const char *text);
void parse_expect(parser *p, char c);

const char *parse_copy(parser *p);
const char *parse_word(parser *p);
uint64_t parse_integer(parser *p);
uint64_t parse_times(parser *p, uint64_t a, uint64_t b);

scope *parse_open_scope(parser *p);
symbol *parse_declare(parser *p, scope *s, const char *name, symbol_kind kind);

/* parse_operand.c */
operand *parse_operand(parser *p);
void parse_plain(parser *p, operand *o);             /* a name or a number */
void parse_items(parser *p, operand *o, char close); /* up to `close`, which is taken */

/* parse_variable.c */
typedef struct declaration {
    const ptx_type *type;
    uint32_t vector;
    uint64_t alignment;
} declaration;

declaration parse_attributes(parser *p);
/* [4][2]; *open: the first is empty. */
uint64_t parse_dimensions(parser *p, bool *open);
void parse_registers(parser *p);
/* `parameter`: of a call, which is no memory of the thread. */
void parse_variables(parser *p, symbol_kind kind, bool external, bool parameter);

/* parse_function.c */
void parse_function(parser *p, bool entry);
void parse_loc(parser *p);

#endif
