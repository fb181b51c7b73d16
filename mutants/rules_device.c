/*
 * Slips that CUDA invites, and those of numbers. Names that these put into a kernel beside its own
 * words are in injected.h.
 */
#include "mutants/rule.h"

#include <string.h>

static phrase one(int32_t i) {
    return (phrase){i, i};
}

static bool calls(const lexed *code, int32_t i, const char *name) {
    return lex_is(code, i, name) && lex_is(code, i + 1, "(");
}

/* ---- waiting ---- */

static void barrier(const lexed *code, int32_t i, edits *to) {
    if (calls(code, i, "__syncthreads") || calls(code, i, "__syncwarp"))
        edits_add(to, phrase_from(code, i), "(void)0");
}

static void shuffle(const lexed *code, int32_t i, edits *to) {
    static const char *const pairs[][2] = {{"__shfl_xor_sync", "__shfl_down_sync"},
                                           {"__shfl_xor_sync", "__shfl_up_sync"},
                                           {"__shfl_down_sync", "__shfl_up_sync"},
                                           {"__shfl_up_sync", "__shfl_down_sync"},
                                           {"__shfl_sync", "__shfl_xor_sync"},
                                           {"__any_sync", "__all_sync"},
                                           {"__all_sync", "__any_sync"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; ++k)
        if (lex_is(code, i, pairs[k][0]))
            edits_add(to, one(i), "%s", pairs[k][1]);
}

static void mask(const lexed *code, int32_t i, edits *to) {
    const bool all = lex_is(code, i, "UINT32_MAX") || lex_is(code, i, "0xffffffffu");
    if (all && lex_is(code, i - 1, "(")) {
        edits_add(to, one(i), "0x7fffffffu");
        edits_add(to, one(i), "0x0000ffffu");
    }
}

static void atomic(const lexed *code, int32_t i, edits *to) {
    if (!calls(code, i, "atomicAdd"))
        return;
    const phrase address = phrase_argument(code, i + 1, 0), value = phrase_argument(code, i + 1, 1);
    edits_add(to, phrase_from(code, i), "*(%.*s) += %.*s", PHRASE(code, address),
              PHRASE(code, value));
}

/* A wait for fewer groups; one for more only takes longer. */
static void async_wait(const lexed *code, int32_t i, edits *to) {
    if (!lex_is(code, i, "cp_async_wait") || !lex_is(code, i + 1, "<"))
        return;
    int32_t close = i + 2;
    while (!lex_is(code, close, ">"))
        ++close;
    const phrase groups = {i + 2, close - 1};
    edits_add(to, groups, "%.*s + 1", PHRASE(code, groups));
}

/* The other stage of a double buffer, or the next of several. */
static void stage(const lexed *code, int32_t i, edits *to) {
    if (lex_is(code, i, "stage") && lex_is(code, i + 1, "*") && code->token[i + 1].binary)
        edits_add(to, one(i), "(1 - stage)");
    if (code->token[i].kind == TOKEN_NAME && lex_is(code, i + 1, "%") &&
        (lex_is(code, i + 2, "STAGES") || lex_is(code, i + 2, "2")))
        edits_add(to, one(i), "(%.*s + 1)", (int)code->token[i].length,
                  code->text + code->token[i].at);
}

static void matrix_load(const lexed *code, int32_t i, edits *to) {
    static const char *const pairs[][2] = {{"ldmatrix_x4", "ldmatrix_x4_trans"},
                                           {"ldmatrix_x4_trans", "ldmatrix_x4"},
                                           {"ldmatrix_x2", "ldmatrix_x2_trans"},
                                           {"ldmatrix_x2_trans", "ldmatrix_x2"}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; ++k)
        if (lex_is(code, i, pairs[k][0]))
            edits_add(to, one(i), "%s", pairs[k][1]);
}

/* ---- numbers ---- */

static void precision(const lexed *code, int32_t i, edits *to) {
    if (!calls(code, i, "fma_"))
        return;
    const phrase a = phrase_argument(code, i + 1, 0);
    if (a.last < a.first)
        return;
    edits_add(to, a, "mutant_tf32(%.*s)", PHRASE(code, a));
    edits_add(to, a, "mutant_bf16(%.*s)", PHRASE(code, a));
}

static void eps(const lexed *code, int32_t i, edits *to) {
    if (lex_is(code, i, "eps") && (lex_is(code, i - 1, "+") || lex_is(code, i - 1, ".")) &&
        !lex_is(code, i + 1, "="))
        edits_add(to, phrase_until(code, i), "0");
}

/* A maximum that begins with 0 is right until all scores are negative. */
static void beginning(const lexed *code, int32_t i, edits *to) {
    if (lex_is(code, i, "NO_SCORE") || lex_is(code, i, "INFINITY"))
        edits_add(to, one(i), "0");
}

static void extreme(const lexed *code, int32_t i, edits *to) {
    if (calls(code, i, "fmaxf") || calls(code, i, "fmax"))
        edits_add(to, one(i), "fminf");
    if (calls(code, i, "fminf") || calls(code, i, "fmin"))
        edits_add(to, one(i), "fmaxf");
}

/* The value of `narrow<T>(value)`, or the value that a statement stores into an element. */
static phrase stored_value(const lexed *code, int32_t i) {
    const phrase none = {0, -1};
    if (lex_is(code, i, "narrow") && lex_is(code, i + 1, "<")) {
        const phrase call = phrase_from(code, i);
        const int32_t open = code->token[call.last].partner;
        return lex_is(code, call.last, ")") ? (phrase){open + 1, call.last - 1} : none;
    }
    const phrase s = phrase_statement(code, i);
    if (s.last <= s.first)
        return none;
    const phrase left = phrase_from(code, lex_is(code, i, "*") ? i + 1 : i);
    if (!lex_is(code, left.last, "]") || !lex_is(code, left.last + 1, "=") ||
        lex_is(code, left.last + 2, "narrow") || lex_is(code, left.last + 2, "{"))
        return none;
    return (phrase){left.last + 2, s.last - 1};
}

static void scale(const lexed *code, int32_t i, edits *to) {
    const phrase value = stored_value(code, i);
    if (value.last >= value.first)
        edits_add(to, value, "mutant_scaled(%.*s)", PHRASE(code, value));
}

static void element(const lexed *code, int32_t i, edits *to) {
    const phrase value = stored_value(code, i);
    if (value.last >= value.first)
        edits_add(to, value, "mutant_one_element(%.*s)", PHRASE(code, value));
}

/* The last thread of a block does not store. */
static void tail(const lexed *code, int32_t i, edits *to) {
    const phrase s = phrase_statement(code, i);
    if (s.last <= s.first)
        return;
    const phrase left = phrase_from(code, lex_is(code, i, "*") ? i + 1 : i);
    const bool element_stored = lex_is(code, left.last, "]") && lex_is(code, left.last + 1, "=");
    if (element_stored || lex_starts(code, i, "store"))
        edits_add(to, s, "if (mutant_not_last()) %.*s", PHRASE(code, s));
}

/* An input that has no say: its cotangent, for one. */
static void ignored(const lexed *code, int32_t i, edits *to) {
    if (!calls(code, i, "widen"))
        return;
    const phrase call = phrase_from(code, i);
    edits_add(to, call, "mutant_one(%.*s)", PHRASE(code, call));
    edits_add(to, call, "mutant_zero(%.*s)", PHRASE(code, call));
}

const rule rules_device[] = {
    {"barrier", "`__syncthreads` or `__syncwarp` removed", barrier},
    {"shuffle", "another kind of shuffle or vote", shuffle},
    {"mask", "a mask without a lane, or without half of them", mask},
    {"atomic", "an atomic addition made a plain one", atomic},
    {"wait", "an asynchronous copy waited for one group too few", async_wait},
    {"stage", "the other stage of a buffer", stage},
    {"matrix load", "a matrix load transposed, or no longer", matrix_load},
    {"precision", "an operand of `fma_` cut to TF32, or rounded to bf16", precision},
    {"eps", "eps dropped", eps},
    {"beginning", "a maximum that begins with 0", beginning},
    {"extreme", "the largest as the smallest", extreme},
    {"scale", "a stored value 1e-4 of itself too large", scale},
    {"element", "one of 61 stored values 3 % too large", element},
    {"tail", "the last thread of a block does not store", tail},
    {"ignored", "an element read as 1, or as 0", ignored},
};
const int32_t n_rules_device = sizeof rules_device / sizeof *rules_device;
