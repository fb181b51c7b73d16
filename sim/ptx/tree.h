/* A module as the parser leaves it: functions of statements, and scopes of symbols. */
#ifndef ASSAY_SIM_PTX_TREE_H
#define ASSAY_SIM_PTX_TREE_H

#include "sim/ptx/arena.h"
#include "sim/ptx/type.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST_PARTS = 24, MOST_OPERANDS = 12, MOST_DIMENSIONS = 3 };

typedef enum symbol_kind {
    SYMBOL_REGISTER,
    SYMBOL_LOCAL,
    SYMBOL_SHARED,
    SYMBOL_GLOBAL, /* .global and .const */
    SYMBOL_PARAMETER,
    SYMBOL_FUNCTION,
    SYMBOL_LABEL,
    SYMBOL_TARGETS, /* .branchtargets */
    SYMBOL_OTHER,   /* .callprototype, .calltargets, .tex */
} symbol_kind;

typedef struct operand operand;
typedef struct function function;
typedef struct scope scope;

typedef struct symbol {
    const char *name;
    symbol_kind kind;
    int32_t id; /* of its own in the module */
    const ptx_type *type;
    uint32_t vector;    /* elements of a vector register; 0: no vector */
    uint32_t count;     /* registers of a family, %r<10>; 0: a single one */
    bool *used;         /* of a family, or of one: which of them are */
    int32_t *lean;      /* of each: how much more often it is used as a floating-point number */
    uint8_t *origin;    /* of each: the source of its values (emit.h) */
    uint8_t *flow;      /* of each: its part in wgmma (emit.h) */
    uint64_t bytes;     /* of a variable */
    uint64_t alignment; /* likewise */
    uint64_t offset;    /* in shared memory; in the block of parameters */
    bool external;      /* no definition here; shared: the dynamic part */
    int32_t index;      /* of a global, a parameter, a function in its list */
    bool result;        /* a parameter that the function returns */
    const operand *initial;
    uint32_t n_initial;
    const scope *names; /* those of the initial values */
    const operand *targets;
    function *function;
    int32_t line;
    struct symbol *next; /* in the order of declaration */
    struct symbol *next_global;
} symbol;

struct scope {
    scope *parent, *next; /* next: of the same function */
    int32_t id;
    symbol *first, *last;
    symbol **table; /* by hash, open addressing */
    uint32_t n, capacity;
};

typedef enum operand_kind {
    OPERAND_NAME,    /* maybe with a component, an offset, a sign */
    OPERAND_INTEGER, /* value */
    OPERAND_FLOAT,   /* value: bits of a double, or of a float where `single` */
    OPERAND_VECTOR,  /* {a, b} */
    OPERAND_ADDRESS, /* [a + offset], or [a, {b}] */
    OPERAND_LIST,    /* (a, b) */
    OPERAND_PAIR,    /* a|b */
} operand_kind;

struct operand {
    operand_kind kind;
    const char *name;
    char component; /* x, y, z, w; 0: none */
    bool negated;   /* !a */
    bool minus;     /* -a */
    bool single;
    int64_t offset;
    uint64_t value;
    operand *items; /* of a vector, an address, a list, a pair */
    uint32_t n_items;
    operand *next; /* while a list is read */
};

typedef enum statement_kind {
    STATEMENT_INSTRUCTION,
    STATEMENT_LABEL,
} statement_kind;

/* Of `.loc`: file is 0 where there was none; then line is the text's own. */
typedef struct place {
    int32_t file, line, outer_file, outer_line; /* outer: where it was inlined; file 0: nowhere */
    const struct place *above;                  /* the outer one, where that was inlined itself */
} place;

typedef struct statement {
    struct statement *next;
    statement_kind kind;
    scope *scope;
    place place;
    int32_t line;
    const symbol *label;
    const char *opcode; /* as written, with all parts */
    const char *part[MOST_PARTS];
    uint32_t n_parts;
    const operand *guard; /* @p, @!p; NULL: none */
    operand *operands[MOST_OPERANDS];
    uint32_t n_operands;
} statement;

struct function {
    function *next;
    const char *name;
    symbol *symbol;
    bool entry, defined;
    symbol **parameters, **results;
    int32_t n_parameters, n_results;
    uint64_t parameter_bytes;
    uint64_t shared_bytes, local_bytes; /* of its own variables, each at its offset */
    scope *scope, *scopes;              /* of the parameters; all that its body opens */
    statement *first, *last;
    uint32_t max_threads[3], required[3], cluster[3], min_blocks, max_registers;
    int32_t line;
};

/* A text with several `.version` is several modules, linked: what is .visible, .weak, .common or
 * .extern is one symbol for all, the rest each module's own. */
typedef struct tree {
    arena *memory;
    const char *name;
    const char *version, *target; /* of the first module */
    scope *scope;                 /* of all */
    scope *modules;               /* each module's own, in a list */
    function *functions, *last_function;
    int32_t n_functions, n_symbols, n_scopes, n_globals;
    symbol *last_global; /* a list, the last first */
    symbol **globals;    /* by index; written when all is read */
    const char **files;
    int32_t n_files, room_for_files;
} tree;

/* A name's symbol, from a scope outwards; a family's register is the family, its number in
 * *number (-1: no family). NULL when there is none. */
symbol *scope_find(const scope *s, const char *name, int64_t *number);
/* Not outwards. */
symbol *scope_own(const scope *s, const char *name);
/* NULL when the scope has the name already. */
symbol *scope_add(arena *a, scope *s, const char *name, symbol_kind kind);

/* Reads a module. On an error the line is recorded with assay_fail. */
assay_status tree_read(tree *t, const char *text, size_t size);

#endif
