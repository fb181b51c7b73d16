/* Slips that any program invites: comparisons, arithmetic, constants, conditions, statements. */
#include "mutants/rule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static phrase one(int32_t i) {
    return (phrase){i, i};
}

typedef struct swap {
    const char *from, *to;
} swap;

/* Replaces token i by the table's entry for it. */
static void exchange(const swap *table, size_t n, const lexed *code, int32_t i, edits *to) {
    for (size_t k = 0; k < n; ++k)
        if (lex_is(code, i, table[k].from))
            edits_add(to, one(i), "%s", table[k].to);
}
#define EXCHANGE(table, code, i, to) exchange(table, sizeof(table) / sizeof *(table), code, i, to)

static void relational(const lexed *code, int32_t i, edits *to) {
    static const swap table[] = {{"<", "<="},    {"<", "< -1 +"}, {"<=", "<"},  {">", ">="},
                                 {">", "> 1 +"}, {">=", ">"},     {"==", "!="}, {"!=", "=="}};
    if (code->token[i].binary)
        EXCHANGE(table, code, i, to);
}

static void arithmetic(const lexed *code, int32_t i, edits *to) {
    static const swap table[] = {{"+", "-"}, {"-", "+"},   {"*", "+"},   {"/", "*"},
                                 {"%", "/"}, {">>", "<<"}, {"<<", ">>"}, {"&", "|"}};
    if (code->token[i].binary)
        EXCHANGE(table, code, i, to);
}

static void logical(const lexed *code, int32_t i, edits *to) {
    static const swap table[] = {{"&&", "||"}, {"||", "&&"}, {"true", "false"}, {"false", "true"}};
    EXCHANGE(table, code, i, to);
    /* A negation. */
    if (lex_is(code, i, "!"))
        edits_add(to, one(i), "%s", "");
}

static void assignment(const lexed *code, int32_t i, edits *to) {
    static const swap table[] = {{"+=", "="}, {"-=", "+="}, {"*=", "="}, {"/=", "*="}};
    EXCHANGE(table, code, i, to);
}

static void sign(const lexed *code, int32_t i, edits *to) {
    static const char *const before[] = {"(", ",", "=", "[", "return", "?", ":", "{", "*", "+"};
    if (!lex_is(code, i, "-") || code->token[i].binary)
        return;
    for (size_t k = 0; k < sizeof before / sizeof *before; ++k)
        if (lex_is(code, i - 1, before[k]))
            edits_add(to, one(i), "%s", "");
}

/* ---- constants ---- */

/* A launch's bytes of dynamic shared memory where it wants none: more of them would do no harm. */
static bool is_no_shared_memory(const lexed *code, int32_t i) {
    int32_t open = i;
    while (open > 0 && !(lex_is(code, open, "(") && code->token[open].partner > i))
        --open;
    return lex_is(code, open - 1, "ASSAY_LAUNCH") && lex_is(code, i, "0") &&
           phrase_argument(code, open, 3).first == i;
}

static void constant(const lexed *code, int32_t i, edits *to) {
    const token *t = &code->token[i];
    char digits[16], *end;
    if (t->kind != TOKEN_NUMBER || t->length >= (int32_t)sizeof digits ||
        is_no_shared_memory(code, i))
        return;
    memcpy(digits, code->text + t->at, (size_t)t->length);
    digits[t->length] = '\0';
    if (strpbrk(digits, ".xX"))
        return;
    const long value = strtol(digits, &end, 10);
    edits_add(to, one(i), "%ld%s", value + 1, end);
    if (value > 0)
        edits_add(to, one(i), "%ld%s", value - 1, end);
    if (value > 2)
        edits_add(to, one(i), "0%s", end);
}

static void real_constant(const lexed *code, int32_t i, edits *to) {
    const token *t = &code->token[i];
    if (t->kind != TOKEN_NUMBER || !memchr(code->text + t->at, '.', (size_t)t->length) ||
        code->text[t->at + 1] == 'x')
        return;
    edits_add(to, one(i), "(%.*s * (1 + 1e-4f))", (int)t->length, code->text + t->at);
    edits_add(to, one(i), "(%.*s + 1)", (int)t->length, code->text + t->at);
}

/* ---- conditions ---- */

/* Whether the phrase is `status`, the mark, `ASSAY_OK`. No launch fails here, so the code for
 * that case never runs: a guard that takes all for well is as good. */
static bool of_status(const lexed *code, phrase p, const char *mark) {
    return p.last == p.first + 2 && lex_is(code, p.first, "status") &&
           lex_is(code, p.first + 1, mark) && lex_is(code, p.last, "ASSAY_OK");
}

static void guard(const lexed *code, int32_t i, edits *to) {
    if (lex_is(code, i, "if") && lex_is(code, i + 1, "(")) {
        const phrase condition = {i + 2, code->token[i + 1].partner - 1};
        if (!of_status(code, condition, "=="))
            edits_add(to, condition, "true");
        if (!of_status(code, condition, "!="))
            edits_add(to, condition, "false");
    }
    if (lex_is(code, i, "?")) {
        edits_add(to, one(i), "|| true ?");
        edits_add(to, one(i), "&& false ?");
    }
}

/* ---- terms and statements ---- */

static bool ends_operand(const lexed *code, int32_t i) {
    static const char *const ends[] = {")", ",", ";", "]", ":", "?", "}"};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; ++k)
        if (lex_is(code, i, ends[k]))
            return true;
    return false;
}

/* a + b without b. */
static void addend(const lexed *code, int32_t i, edits *to) {
    if (!lex_is(code, i, "+") && !lex_is(code, i, "-"))
        return;
    const phrase b = phrase_from(code, i + 1);
    if (!code->token[i].binary || b.last < b.first || !ends_operand(code, b.last + 1))
        return;
    edits_add(to, (phrase){i, b.last}, "%s", "");
}

static void statement(const lexed *code, int32_t i, edits *to) {
    const phrase s = phrase_statement(code, i);
    if (s.last > s.first)
        edits_add(to, s, ";");
}

/* ---- mistaken order ---- */

static bool swappable(const lexed *code, phrase p) {
    return p.last >= p.first && p.last - p.first <= 2 && code->token[p.first].kind == TOKEN_NAME &&
           phrase_from(code, p.first).last == p.last;
}

/* Arguments that may change places. */
static bool symmetric(const lexed *code, int32_t callee, int32_t n) {
    return (lex_is(code, callee, "fma_") && n == 0) || lex_starts(code, callee, "fmax") ||
           lex_starts(code, callee, "fmin") || lex_starts(code, callee, "larger");
}

/* f(a, b) as f(b, a). */
static void arguments(const lexed *code, int32_t i, edits *to) {
    static const char *const words[] = {"if", "for", "while", "switch", "sizeof", "ASSAY_VARIANT"};
    if (code->token[i].kind != TOKEN_NAME || !lex_is(code, i + 1, "("))
        return;
    for (size_t k = 0; k < sizeof words / sizeof *words; ++k)
        if (lex_is(code, i, words[k]))
            return;
    for (int32_t n = 0;; ++n) {
        const phrase a = phrase_argument(code, i + 1, n), b = phrase_argument(code, i + 1, n + 1);
        if (b.last < b.first)
            return;
        if (swappable(code, a) && swappable(code, b) && !phrase_same(code, a, b) &&
            !symmetric(code, i, n))
            edits_add(to, (phrase){a.first, b.last}, "%.*s, %.*s", PHRASE(code, b),
                      PHRASE(code, a));
    }
}

/* a * b + c as a * c + b: an index of the wrong stride. */
static void operands(const lexed *code, int32_t i, edits *to) {
    if (!lex_is(code, i, "*") || !code->token[i].binary)
        return;
    const phrase b = phrase_from(code, i + 1);
    if (b.last < b.first || !lex_is(code, b.last + 1, "+") || !code->token[b.last + 1].binary)
        return;
    const phrase c = phrase_from(code, b.last + 2);
    if (c.last >= c.first && !phrase_same(code, b, c))
        edits_add(to, (phrase){b.first, c.last}, "%.*s + %.*s", PHRASE(code, c), PHRASE(code, b));
}

const rule rules_plain[] = {
    {"relational", "`<` as `<=`, or off by one the other way; `==` as `!=`", relational},
    {"arithmetic", "`+` as `-`, `*` as `+`, `/` as `*`, `%` as `/`", arithmetic},
    {"logical", "`&&` as `||`, `true` as `false`, a negation dropped", logical},
    {"assignment", "`+=` as `=`, `-=` as `+=`", assignment},
    {"sign", "a minus dropped", sign},
    {"constant", "an integer one more, one less, or 0", constant},
    {"real constant", "a real number 1e-4 of itself more, or one more", real_constant},
    {"guard", "a condition that always holds, or never", guard},
    {"addend", "`a + b` without `b`", addend},
    {"statement", "a call, an assignment or a jump removed", statement},
    {"arguments", "two neighbouring arguments swapped", arguments},
    {"operands", "`a * b + c` as `a * c + b`", operands},
};
const int32_t n_rules_plain = sizeof rules_plain / sizeof *rules_plain;
