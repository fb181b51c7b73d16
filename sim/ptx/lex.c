#include "sim/ptx/lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char peek(const lexer *l, size_t ahead) {
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static void skip_comment(lexer *l) {
    l->at += 2;
    while (l->at < l->end && !(l->at[0] == '*' && peek(l, 1) == '/'))
        l->line += *l->at++ == '\n';
    if (l->at == l->end)
        l->error = "a comment without an end";
    else
        l->at += 2;
}

/* True when there was something to skip. */
static bool skip_space(lexer *l) {
    const char *start = l->at;
    while (l->at < l->end) {
        if (*l->at == '\n')
            ++l->line;
        if (*l->at == '/' && peek(l, 1) == '/')
            while (l->at < l->end && *l->at != '\n')
                ++l->at;
        else if (*l->at == '/' && peek(l, 1) == '*')
            skip_comment(l);
        else if (*l->at == ' ' || (*l->at >= '\t' && *l->at <= '\r') || *l->at == '\0')
            ++l->at;
        else
            break;
    }
    return l->at != start;
}

static int digit_of(char c) {
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static uint64_t read_digits(lexer *l, int base) {
    uint64_t value = 0;
    const char *start = l->at;
    while (l->at < l->end && digit_of(*l->at) < base) {
        if (value > (UINT64_MAX - (uint64_t)digit_of(*l->at)) / (uint64_t)base)
            l->error = "a number of more than 64 bits";
        value = value * (uint64_t)base + (uint64_t)digit_of(*l->at++);
    }
    if (l->at == start)
        l->error = "a number without digits";
    return value;
}

/* 0f and 8 digits, 0d and 16: the bits. */
static token read_bits(lexer *l, bool single) {
    token t = {.kind = TOKEN_FLOAT, .single = single};
    l->at += 2;
    const char *start = l->at;
    t.value = read_digits(l, 16);
    if (l->at - start != (single ? 8 : 16))
        l->error = "a floating-point constant of the wrong length";
    return t;
}

static token read_decimal_float(lexer *l) {
    char text[64] = "";
    size_t n = 0;
    while (l->at < l->end && n + 1 < sizeof text &&
           (is_digit(*l->at) || strchr(".eE", *l->at) != NULL ||
            ((*l->at == '-' || *l->at == '+') && n > 0 && (text[n - 1] | 32) == 'e')))
        text[n++] = *l->at++;
    char *rest;
    const double value = strtod(text, &rest);
    token t = {.kind = TOKEN_FLOAT};
    memcpy(&t.value, &value, sizeof t.value);
    if (*rest != '\0')
        l->error = "a malformed number";
    return t;
}

static bool is_decimal_float(const lexer *l) {
    const char *p = l->at;
    while (p < l->end && is_digit(*p))
        ++p;
    return p < l->end &&
           ((*p == '.' && p + 1 < l->end && is_digit(p[1])) || *p == 'e' || *p == 'E');
}

static token read_number(lexer *l) {
    const char kind = (char)(peek(l, 1) | 32);
    token t = {.kind = TOKEN_INTEGER};
    if (*l->at == '0' && (kind == 'f' || kind == 'd'))
        return read_bits(l, kind == 'f');
    if (*l->at == '0' && (kind == 'x' || kind == 'b')) {
        l->at += 2;
        t.value = read_digits(l, kind == 'x' ? 16 : 2);
    } else if (is_decimal_float(l)) {
        return read_decimal_float(l);
    } else {
        t.value = read_digits(l, *l->at == '0' && is_digit(peek(l, 1)) ? 8 : 10);
    }
    if (peek(l, 0) == 'U')
        ++l->at;
    return t;
}

static token read_string(lexer *l) {
    const char *start = ++l->at;
    while (l->at < l->end && *l->at != '"' && *l->at != '\n')
        l->at += *l->at == '\\' && peek(l, 1) != '\n' && l->at + 1 < l->end ? 2 : 1;
    token t = {.kind = TOKEN_STRING, .text = start, .n = (size_t)(l->at - start)};
    if (peek(l, 0) == '"')
        ++l->at;
    else
        l->error = "a string without an end";
    return t;
}

static token read_word(lexer *l) {
    const char *start = l->at++;
    while (l->at < l->end && (is_letter(*l->at) || is_digit(*l->at)))
        ++l->at;
    return (token){.kind = TOKEN_WORD, .text = start, .n = (size_t)(l->at - start)};
}

static token read_dot(lexer *l) {
    const char *start = ++l->at;
    while (l->at < l->end && (is_letter(*l->at) || is_digit(*l->at) ||
                              (*l->at == ':' && (peek(l, 1) == ':' || l->at[-1] == ':'))))
        ++l->at;
    return (token){.kind = TOKEN_DOT, .text = start, .n = (size_t)(l->at - start)};
}

token lex_next(lexer *l) {
    const bool spaced = skip_space(l);
    const int32_t line = l->line;
    token t = {.kind = TOKEN_END, .text = l->at};
    if (l->at == l->end || l->error != NULL) {
        t.line = line;
        return t;
    }
    const char c = *l->at, next = peek(l, 1);
    if (is_letter(c))
        t = read_word(l);
    else if (is_digit(c))
        t = read_number(l);
    else if (c == '.' && (is_letter(next) || is_digit(next)))
        t = read_dot(l);
    else if (c == '"')
        t = read_string(l);
    else
        t = (token){.kind = TOKEN_OTHER, .text = l->at++, .n = 1};
    t.line = line;
    t.spaced = spaced;
    return t;
}

void lex_skip_block(lexer *l) {
    int32_t depth = 1;
    while (l->at < l->end && depth > 0) {
        if (*l->at == '\n')
            ++l->line;
        depth += (*l->at == '{') - (*l->at == '}');
        ++l->at;
    }
}
