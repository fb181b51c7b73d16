#include "mutants/phrase.h"

#include <string.h>

static const phrase none = {0, -1};

static bool is_kind(const lexed *code, int32_t i, token_kind kind) {
    return i >= 0 && i < code->count && code->token[i].kind == kind;
}

/* No blank between token i and the next: `f<`, `f(`. */
static bool touches(const lexed *code, int32_t i) {
    return i + 1 < code->count &&
           code->token[i].at + code->token[i].length == code->token[i + 1].at;
}

int32_t phrase_closing_angle(const lexed *code, int32_t i) {
    int32_t depth = 0;
    for (; i < code->count && !lex_is(code, i, ";") && !lex_is(code, i, "{"); ++i) {
        const token *t = &code->token[i];
        if (lex_is(code, i, "<") && !t->binary)
            ++depth;
        else if (lex_is(code, i, ">") && !t->binary && --depth == 0)
            return i;
        else if (t->partner > i)
            i = t->partner;
    }
    return -1;
}

phrase phrase_from(const lexed *code, int32_t i) {
    phrase p = {i, i};
    if (lex_is(code, i, "(") && code->token[i].partner > i)
        p.last = code->token[i].partner;
    else if (!is_kind(code, i, TOKEN_NAME) && !is_kind(code, i, TOKEN_NUMBER))
        return none;
    for (;;) {
        const int32_t next = p.last + 1;
        if ((lex_is(code, next, ".") || lex_is(code, next, "->") || lex_is(code, next, "::")) &&
            is_kind(code, next + 1, TOKEN_NAME))
            p.last = next + 1;
        else if ((lex_is(code, next, "(") || lex_is(code, next, "[")) && touches(code, p.last) &&
                 code->token[next].partner > next)
            p.last = code->token[next].partner;
        else if (lex_is(code, next, "<") && touches(code, p.last) &&
                 is_kind(code, p.last, TOKEN_NAME) && phrase_closing_angle(code, next) > 0)
            p.last = phrase_closing_angle(code, next);
        else
            return p;
    }
}

/* The token before which the operand that ends with `last` cannot reach. */
static int32_t step_back(const lexed *code, int32_t i) {
    const int32_t partner = code->token[i].partner;
    return partner >= 0 && partner < i ? partner : i;
}

phrase phrase_until(const lexed *code, int32_t i) {
    if (!is_kind(code, i, TOKEN_NAME) && !is_kind(code, i, TOKEN_NUMBER) && !lex_is(code, i, ")") &&
        !lex_is(code, i, "]"))
        return none;
    phrase p = {step_back(code, i), i};
    for (;;) {
        const int32_t before = p.first - 1;
        const bool bracket = lex_is(code, p.first, "(") || lex_is(code, p.first, "[");
        if (lex_is(code, before, ".") || lex_is(code, before, "->") || lex_is(code, before, "::"))
            p.first = before > 0 ? step_back(code, before - 1) : before;
        else if (bracket && before >= 0 && touches(code, before) &&
                 (is_kind(code, before, TOKEN_NAME) || lex_is(code, before, ")") ||
                  lex_is(code, before, "]")))
            p.first = step_back(code, before);
        else
            return p;
    }
}

phrase phrase_argument(const lexed *code, int32_t open, int32_t n) {
    const int32_t close = code->token[open].partner;
    phrase p = {open + 1, open};
    for (int32_t i = open + 1; i <= close; ++i) {
        if (i == close || lex_is(code, i, ",")) {
            p.last = i - 1;
            if (n-- == 0)
                return p;
            p.first = i + 1;
        } else if (code->token[i].partner > i) {
            i = code->token[i].partner;
        } else if (lex_is(code, i, "<") && !code->token[i].binary &&
                   phrase_closing_angle(code, i) > 0) {
            i = phrase_closing_angle(code, i);
        }
    }
    return none;
}

/* ---- statements ---- */

static bool begins_statement(const lexed *code, int32_t i) {
    const int32_t before = i - 1;
    if (lex_is(code, before, ";") || lex_is(code, before, "{") || lex_is(code, before, "}") ||
        lex_is(code, before, "else"))
        return true;
    if (!lex_is(code, before, ")"))
        return false;
    const int32_t head = code->token[before].partner - 1; /* if (...), for (...) */
    return lex_is(code, head, "if") || lex_is(code, head, "for") || lex_is(code, head, "constexpr");
}

static int32_t semicolon(const lexed *code, int32_t i) {
    for (; i < code->count && !lex_is(code, i, ";"); ++i) {
        if (lex_is(code, i, "}") || lex_is(code, i, ")"))
            return -1;
        if (code->token[i].partner > i)
            i = code->token[i].partner;
    }
    return i < code->count ? i : -1;
}

/* Of a for's header, or of a declaration that only looks like a call. */
static bool within_parentheses(const lexed *code, int32_t i) {
    for (--i; i >= 0; --i) {
        if (code->token[i].partner >= 0 && code->token[i].partner < i)
            i = code->token[i].partner;
        else if (lex_is(code, i, "(") || lex_is(code, i, "["))
            return true;
        else if (lex_is(code, i, "{"))
            return false;
    }
    return true; /* outside of every function */
}

static bool is_jump(const lexed *code, int32_t i) {
    return lex_is(code, i, "continue") || lex_is(code, i, "break") ||
           (lex_is(code, i, "return") && lex_is(code, i + 1, ";"));
}

static bool assigns(const lexed *code, int32_t i) {
    static const char *const marks[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "++", "--"};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; ++m)
        if (lex_is(code, i, marks[m]))
            return true;
    return false;
}

phrase phrase_statement(const lexed *code, int32_t i) {
    const bool pointed = lex_is(code, i, "*") || lex_is(code, i, "++") || lex_is(code, i, "--");
    if (!begins_statement(code, i))
        return none;
    const int32_t end = semicolon(code, i);
    if (end < 0 || within_parentheses(code, i))
        return none;
    const phrase left = phrase_from(code, pointed ? i + 1 : i);
    if (left.last < left.first)
        return none;
    const bool call = lex_is(code, left.last, ")") && left.last + 1 == end;
    if (is_jump(code, i) || call || pointed || assigns(code, left.last + 1))
        return (phrase){i, end};
    return none;
}

/* ---- text ---- */

int32_t phrase_at(const lexed *code, phrase p) {
    return code->token[p.first].at;
}

int32_t phrase_length(const lexed *code, phrase p) {
    return code->token[p.last].at + code->token[p.last].length - code->token[p.first].at;
}

bool phrase_same(const lexed *code, phrase a, phrase b) {
    const int32_t length = phrase_length(code, a);
    return length == phrase_length(code, b) &&
           memcmp(code->text + phrase_at(code, a), code->text + phrase_at(code, b),
                  (size_t)length) == 0;
}
