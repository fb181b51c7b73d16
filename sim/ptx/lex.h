/* PTX as tokens. */
#ifndef ASSAY_SIM_PTX_LEX_H
#define ASSAY_SIM_PTX_LEX_H

#include "sim/ptx/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum token_kind {
    TOKEN_END,
    TOKEN_WORD,    /* add, %r1, $L__BB0_1, _ */
    TOKEN_DOT,     /* .global, .v4, .shared::cta; the text has no dot */
    TOKEN_INTEGER, /* value */
    TOKEN_FLOAT,   /* value: the bits of a double; single: the bits of a float */
    TOKEN_STRING,  /* text without its quotes */
    TOKEN_OTHER,   /* one character: text[0] */
} token_kind;

typedef struct token {
    token_kind kind;
    const char *text;
    size_t n;
    uint64_t value;
    bool single; /* 0f3f800000 */
    int32_t line;
    bool spaced; /* there is space before it */
} token;

typedef struct lexer {
    const char *at, *end;
    int32_t line;
    const char *error; /* of the last token; NULL: none */
} lexer;

token lex_next(lexer *l);

/* Skips to behind the brace that closes the one just read. */
void lex_skip_block(lexer *l);

#endif
