/* Phrases of a kernel file: which tokens make an operand, an argument, a statement. */
#ifndef ASSAY_MUTANTS_PHRASE_H
#define ASSAY_MUTANTS_PHRASE_H

#include "mutants/lex.h"

/* Tokens first..last; none when last < first. */
typedef struct phrase {
    int32_t first, last;
} phrase;

/* The operand that begins, or ends, with token i: a name or number with its members, calls,
 * subscripts and template arguments, or something in parentheses. */
phrase phrase_from(const lexed *code, int32_t i);
phrase phrase_until(const lexed *code, int32_t i);

/* The bracket that closes the template's arguments or parameters opened by token i; -1: none. */
int32_t phrase_closing_angle(const lexed *code, int32_t i);

/* Argument number n of the call whose opening parenthesis is token `open`. */
phrase phrase_argument(const lexed *code, int32_t open, int32_t n);

/* The statement that begins with token i, its semicolon last, where it is an expression's (a call,
 * an assignment): removing it leaves a program. */
phrase phrase_statement(const lexed *code, int32_t i);

/* Whether both phrases have the same tokens. */
bool phrase_same(const lexed *code, phrase a, phrase b);

/* Bytes of the text: where it begins, how many. */
int32_t phrase_at(const lexed *code, phrase p);
int32_t phrase_length(const lexed *code, phrase p);

#endif
