/*
 * The tokens of a kernel file, as far as mutations need them: no comments, no preprocessor lines,
 * nothing that only nvcc sees. Sources are as clang-format leaves them. In C++ a parser would have
 * to tell operators from other signs; here blanks do: an operator has them on both sides, a
 * template's bracket, a pointer's star and a sign have not.
 */
#ifndef ASSAY_MUTANTS_LEX_H
#define ASSAY_MUTANTS_LEX_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_MARK } token_kind;

typedef struct token {
    token_kind kind;
    int32_t at, length; /* bytes of the text */
    int32_t line;       /* from 1 */
    int32_t partner;    /* of a bracket ( ) [ ] { }: the other one; -1: none */
    bool binary;        /* blanks on both sides */
} token;

typedef struct lexed {
    const char *text; /* the caller's */
    token *token;
    int32_t count;
} lexed;

assay_status lex(const char *text, lexed *code) ASSAY_MUST_CHECK;
void lex_clear(lexed *code);

/* Whether there is a token i with that text. */
bool lex_is(const lexed *code, int32_t i, const char *text);

/* Whether token i is a name that begins with `start`. */
bool lex_starts(const lexed *code, int32_t i, const char *start);

/* The name of a header in quotes that this preprocessor line includes, copied into `name`. */
bool lex_include(const char *line, char *name, int32_t size);

/* Hands over each live preprocessor line (its text begins at '#'). */
typedef assay_status (*lex_directive_visitor)(const char *line, void *context);
assay_status lex_directives(const char *text, lex_directive_visitor visit,
                            void *context) ASSAY_MUST_CHECK;

#endif
