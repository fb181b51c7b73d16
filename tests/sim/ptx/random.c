#include "tests/sim/ptx/random.h"

#include "tests/sim/ptx/forms.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char classes[] = "fdsilhHnpk";

enum { SHARED = 8 * RANDOM_THREADS, LOCAL = 64, NAME = 40, GUARD = NAME + 8 };

/* A text that grows, and what a program has come to. */
typedef struct writer {
    char *at;
    size_t n, room;
    uint64_t state; /* of the random numbers */
    char results[RANDOM_STEPS]
                [RANDOM_RESULTS + 1]; /* of each step, a size each: 's' 'i' 'l' 'p'; "": left out */
    int32_t step, inputs;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...) {
    va_list args;
    if (w->room - w->n < 600) {
        w->room = 2 * w->room + 4096;
        char *grown = realloc(w->at, w->room);
        if (grown == NULL)
            abort();
        w->at = grown;
    }
    va_start(args, format);
    w->n += (size_t)vsnprintf(w->at + w->n, w->room - w->n, format, args);
    va_end(args);
}

static uint32_t draw(writer *w, uint32_t n) {
    uint64_t z = w->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % n);
}

/* Registers are typed by their size alone, so that any result can be any operand of that size. */
static char size_of(char class) {
    return strchr("sh", class) ? 's' : strchr("dl", class) ? 'l' : class == 'p' ? 'p' : 'i';
}

static const char *type_of(char size) {
    return size == 's' ? "b16" : size == 'l' ? "b64" : size == 'p' ? "pred" : "b32";
}

/* ---- operands */

/* One of the inputs, in a register of its own. */
static void put_input(writer *w, char class, uint32_t which, char name[NAME]) {
    const char *type = type_of(size_of(class));
    const size_t offset =
        ((size_t)(strchr(classes, class) - classes) * FORM_OPERANDS * FORM_TUPLES +
         which % (FORM_OPERANDS * FORM_TUPLES - RANDOM_THREADS)) *
        8;
    snprintf(name, NAME, "%%a%d", w->inputs++);
    put(w, ".reg .%s %s;\n", type, name);
    if (class == 'p')
        put(w, "ld.global.u32 %%w, [%%in+%zu];\nsetp.ne.u32 %s, %%w, 0;\n", offset, name);
    else
        put(w, "ld.global.%s %s, [%%in+%zu];\n", type, name, offset);
}

/* An earlier result of that size, or else an input. The draws do not depend on what was left out.
 */
static void put_operand(writer *w, char class, char name[NAME]) {
    const uint32_t which = draw(w, 1 << 20), earlier = draw(w, 3 * RANDOM_STEPS),
                   tries = draw(w, 4);
    if (class != 'n' && class != 'k' && tries != 0)
        for (int32_t i = 0; i < w->step * 2; ++i) {
            const int32_t at = (int32_t)((earlier + (uint32_t)i) % (uint32_t)(w->step * 2));
            if (w->results[at / 2][at % 2] == size_of(class)) {
                snprintf(name, NAME, "%%d%d_%d", at / 2, at % 2);
                return;
            }
        }
    put_input(w, class, which, name);
}

/* Names this step's next result. */
static void put_result(writer *w, char class, char name[NAME]) {
    const size_t k = strlen(w->results[w->step]);
    w->results[w->step][k] = size_of(class);
    snprintf(name, NAME, "%%d%d_%zu", w->step, k);
    put(w, ".reg .%s %s;\n", type_of(size_of(class)), name);
}

/* ---- steps */

/* Names a result that holds an input already, so that an instruction under a guard may leave it. */
static void put_guard(writer *w, char class, const char *result, char guard[GUARD]) {
    char value[NAME], predicate[NAME];
    const uint32_t inverted = draw(w, 2);
    put_operand(w, class, value);
    put_operand(w, 'p', predicate);
    put(w, "mov.%s %s, %s;\n", type_of(size_of(class)), result, value);
    snprintf(guard, GUARD, "@%s%s ", inverted ? "!" : "", predicate);
}

/* Two defects of ptxas 12.9 to 13.5. These lose their guard: */
static bool loses_guard(const char *opcode) {
    return strncmp(opcode, "testp.", 6) == 0 || strcmp(opcode, "vadd4.u32.u32.u32.add") == 0 ||
           strcmp(opcode, "vsub4.u32.u32.u32.add") == 0;
}

/* A `set` of type f32 gives the integer 1 for 1.0 where its bits are widened to 64, in a kernel
 * that calls a function; sqrt.rm.f64 is one. */
static bool gives_integer(const char *opcode) {
    return strncmp(opcode, "set.", 4) == 0 && strstr(opcode, ".f32.") != NULL;
}

/* PTX leaves the bits of a NaN open, and ptxas makes abs, neg or min(x, x) a part of other
 * instructions, or nothing. So a result that is a NaN becomes one NaN. */
static void part_nans(writer *w, const form *f, const char *result) {
    const char *sixteen = strstr(f->opcode, "f16"); /* the result's type comes first */
    const char *half = sixteen != NULL && sixteen[-1] == 'b' ? "bf16" : "f16";
    switch (strstr(f->opcode, ".tf32.") != NULL ? 'f' : f->result[0]) {
    case 'f':
        put(w, "setp.nan.f32 %%nan, %s, %s;\n@%%nan mov.b32 %s, 0x7fffffff;\n", result, result,
            result);
        break;
    case 'd':
        put(w, "setp.nan.f64 %%nan, %s, %s;\n@%%nan mov.b64 %s, 0x7fffffffffffffff;\n", result,
            result, result);
        break;
    case 'h':
        put(w, "setp.nan.%s %%nan, %s, %s;\n@%%nan mov.b16 %s, 0x7fff;\n", half, result, result,
            result);
        break;
    case 'H':
        put(w, "mov.b32 {%%low, %%high}, %s;\n", result);
        put(w, "setp.nan.%s %%nan, %%low, %%low;\n@%%nan mov.b16 %%low, 0x7fff;\n", half);
        put(w, "setp.nan.%s %%nan, %%high, %%high;\n@%%nan mov.b16 %%high, 0x7fff;\n", half);
        put(w, "mov.b32 %s, {%%low, %%high};\n", result);
    }
}

static void form_step(writer *w) {
    const form *f = &forms[draw(w, (uint32_t)n_forms)];
    while (gives_integer(f->opcode))
        f = &forms[draw(w, (uint32_t)n_forms)];
    const char *insert = strchr(f->opcode, '#'); /* a constant as the last operand */
    const bool collective = strstr(f->opcode, ".sync") != NULL, guarded = draw(w, 6) == 0;
    const int length = (int)(insert != NULL ? (size_t)(insert - f->opcode) : strlen(f->opcode));
    char operands[FORM_OPERANDS][NAME], result[NAME], guard[GUARD] = "";
    for (int32_t k = 0; f->operands[k] != '\0'; ++k)
        put_operand(w, f->operands[k], operands[k]);
    put_result(w, f->result[0], result);
    if (guarded && !collective && !loses_guard(f->opcode)) {
        /* The result is no operand of its own. */
        w->results[w->step][0] = '\0';
        put_guard(w, f->result[0], result, guard);
        w->results[w->step][0] = size_of(f->result[0]);
    }
    put(w, "%s%.*s %s", guard, length, f->opcode, result);
    for (int32_t k = 0; f->operands[k] != '\0'; ++k)
        put(w, ", %s", operands[k]);
    put(w, insert != NULL ? ", %s;\n" : ";\n", insert != NULL ? insert + 1 : "");
    part_nans(w, f, result);
}

static const char *const shuffles[] = {"up", "down", "bfly", "idx"};

/* Collectives with a predicate beside the result. */
static void pair_step(writer *w) {
    char value[NAME], count[NAME], result[NAME], predicate[NAME];
    const uint32_t kind = draw(w, 5);
    put_operand(w, 'i', value);
    put_operand(w, 'n', count);
    put_result(w, 'i', result);
    put_result(w, 'p', predicate);
    if (kind == 4) {
        put(w, "match.all.sync.b32 %s|%s, %s, 0xffffffff;\n", result, predicate, value);
        return;
    }
    const uint32_t clamp = draw(w, 32), segment = draw(w, 4) << 11;
    put(w, "shfl.sync.%s.b32 %s|%s, %s, %s, %u, 0xffffffff;\n", shuffles[kind], result, predicate,
        value, count, clamp | segment);
}

/* Carries go from one instruction to the next. */
static void carry_step(writer *w) {
    static const char *const first[] = {"add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"};
    static const char *const then[] = {"addc", "subc", "madc.lo", "madc.hi"};
    const uint32_t kind = draw(w, 4), wide = draw(w, 2);
    char a[3][NAME], b[3][NAME], low[NAME], high[NAME];
    const char class = wide ? 'l' : 'i';
    for (int32_t k = 0; k < 3; ++k)
        put_operand(w, class, a[k]);
    for (int32_t k = 0; k < 3; ++k)
        put_operand(w, class, b[k]);
    put_result(w, class, low);
    put_result(w, class, high);
    const char *type = wide ? "u64" : "u32";
    if (kind < 2)
        put(w, "%s.%s %s, %s, %s;\n%s.%s %s, %s, %s;\n", first[kind], type, low, a[0], a[1],
            then[kind], type, high, b[0], b[1]);
    else
        put(w, "%s.%s %s, %s, %s, %s;\n%s.%s %s, %s, %s, %s;\n", first[kind], type, low, a[0], a[1],
            a[2], then[kind], type, high, b[0], b[1], b[2]);
}

/* Every thread stores, and after a barrier reads what others have stored. */
static void shared_step(writer *w) {
    static const char sizes[] = "sill";
    const uint32_t width = draw(w, 4), factor = 2 * draw(w, 32) + 1, offset = draw(w, 64);
    const char class = sizes[width];
    char value[2][NAME], result[2][NAME];
    const uint32_t vector = width == 1;
    for (uint32_t k = 0; k <= vector; ++k)
        put_operand(w, class, value[k]);
    for (uint32_t k = 0; k <= vector; ++k)
        put_result(w, class, result[k]);
    put(w,
        "mad.lo.u32 %%w, %%me, %u, %u;\nand.b32 %%w, %%w, %d;\nshl.b32 %%w, %%w, 3;\n"
        "add.u32 %%w, %%w, %%sh;\n",
        factor, offset, RANDOM_THREADS - 1);
    if (vector)
        put(w,
            "st.shared.v2.b32 [%%own], {%s, %s};\nbar.sync 0;\n"
            "ld.shared.v2.b32 {%s, %s}, [%%w];\nbar.sync 0;\n",
            value[0], value[1], result[0], result[1]);
    else
        put(w, "st.shared.%s [%%own], %s;\nbar.sync 0;\nld.shared.%s %s, [%%w];\nbar.sync 0;\n",
            type_of(class), value[0], type_of(class), result[0]);
}

/* Atomics of one kind on words that several threads choose. */
static void atomic_step(writer *w) {
    static const char *const kinds[] = {"add.u32", "add.u64", "min.u32", "min.s32", "max.u32",
                                        "max.s32", "and.b32", "or.b32",  "xor.b32", "min.s64",
                                        "max.u64", "and.b64", "xor.b64"};
    const char *kind = kinds[draw(w, 13)];
    const char class = strstr(kind, "64") != NULL ? 'l' : 'i';
    const uint32_t global = draw(w, 4) == 0, spread = 1u << draw(w, 7);
    char start[NAME], value[NAME], choice[NAME], result[NAME];
    put_operand(w, class, start);
    put_operand(w, class, value);
    put_operand(w, 'i', choice);
    put_result(w, class, result);
    const char *space = global ? "global" : "shared", *own = global ? "%gown" : "%own";
    put(w, "st.%s.%s [%s], %s;\nbar.sync 0;\nand.b32 %%w, %s, %u;\nshl.b32 %%w, %%w, 3;\n", space,
        type_of(class), own, start, choice, spread - 1 < RANDOM_THREADS ? spread - 1 : 63);
    if (global)
        put(w, "cvt.u64.u32 %%t, %%w;\nadd.u64 %%t, %%t, %%gl;\nred.global.%s [%%t], %s;\n", kind,
            value);
    else
        put(w, "add.u32 %%w, %%w, %%sh;\nred.shared.%s [%%w], %s;\n", kind, value);
    put(w, "bar.sync 0;\nld.%s.%s %s, [%s];\nbar.sync 0;\n", space, type_of(class), result, own);
}

/* Local memory, at a place that is computed. */
static void local_step(writer *w) {
    char a[NAME], b[NAME], choice[NAME], result[NAME];
    put_operand(w, 'i', a);
    put_operand(w, 'l', b);
    put_operand(w, 'i', choice);
    put_result(w, 'l', result);
    put(w,
        "st.local.b64 [%%lo], %s;\nst.local.b64 [%%lo+8], %s;\nst.local.b64 [%%lo+16], %s;\n"
        "and.b32 %%w, %s, 8;\ncvt.u64.u32 %%t, %%w;\nadd.u64 %%t, %%t, %%lo;\n"
        "st.local.b32 [%%t+4], %s;\nld.local.b64 %s, [%%t+8];\n",
        b, b, b, choice, a, result);
}

static void barrier_step(writer *w) {
    static const char *const kinds[] = {"popc.u32", "and.pred", "or.pred"};
    const uint32_t kind = draw(w, 3);
    char value[NAME], result[NAME];
    put_operand(w, 'p', value);
    put_result(w, kind == 0 ? 'i' : 'p', result);
    put(w, "barrier.cta.red.%s %s, 0, %s;\n", kinds[kind], result, value);
}

/* Registers taken apart and put together. */
static void pack_step(writer *w) {
    char a[NAME], b[NAME], low[NAME], high[NAME], whole[NAME];
    const bool wide = draw(w, 2) == 0;
    put_operand(w, wide ? 'l' : 'i', a);
    put_operand(w, wide ? 'i' : 's', b);
    put_result(w, wide ? 'i' : 's', low);
    put_result(w, wide ? 'i' : 's', high);
    put_result(w, wide ? 'l' : 'i', whole);
    const char *type = wide ? "b64" : "b32";
    put(w, "mov.%s {%s, %s}, %s;\nmov.%s %s, {%s, %s};\n", type, low, high, a, type, whole, b, low);
}

/* A branch that threads take apart, and the place where they meet again. */
static void branch_step(writer *w, uint64_t seed) {
    char predicate[NAME], value[2][NAME], result[NAME];
    put_operand(w, 'p', predicate);
    put_operand(w, 'i', value[0]);
    put_operand(w, 'i', value[1]);
    put_result(w, 'i', result);
    put(w,
        "@%s bra ELSE%" PRIu64 "_%d;\nmad.lo.u32 %s, %s, 3, %s;\nbra.uni END%" PRIu64 "_%d;\n"
        "ELSE%" PRIu64 "_%d:\nsub.u32 %s, %s, %s;\nEND%" PRIu64 "_%d:\nbar.warp.sync 0xffffffff;\n",
        predicate, seed, w->step, result, value[0], value[1], seed, w->step, seed, w->step, result,
        value[1], value[0], seed, w->step);
}

static void put_step(writer *w, uint64_t seed) {
    switch (draw(w, 32)) {
    case 0:
        pair_step(w);
        break;
    case 1:
        carry_step(w);
        break;
    case 2:
        shared_step(w);
        break;
    case 3:
        atomic_step(w);
        break;
    case 4:
        local_step(w);
        break;
    case 5:
        barrier_step(w);
        break;
    case 6:
        pack_step(w);
        break;
    case 7:
        branch_step(w, seed);
        break;
    default:
        form_step(w);
    }
}

/* ---- programs */

/* Stores the step's results, a word each. */
static void store(writer *w, int32_t place) {
    for (int32_t k = 0; w->results[w->step][k] != '\0'; ++k) {
        const char size = w->results[w->step][k];
        const int32_t slot = (place * RANDOM_STEPS + w->step) * RANDOM_RESULTS + k;
        if (size == 'p')
            put(w, "selp.u64 %%t, 1, 0, %%d%d_%d;\n", w->step, k);
        else if (size != 'l')
            put(w, "cvt.u64.%s %%t, %%d%d_%d;\n", size == 's' ? "u16" : "u32", w->step, k);
        put(w, "st.global.b64 [%%out+%d], ", slot * RANDOM_THREADS * 8);
        put(w, size == 'l' ? "%%d%d_%d;\n" : "%%t;\n", w->step, k);
    }
}

static void put_program(writer *w, uint64_t seed, int32_t place, uint64_t steps) {
    w->state = seed * UINT64_C(0xd6e8feb86659fd93);
    w->inputs = 0;
    memset(w->results, 0, sizeof w->results);
    const int32_t n = 4 + (int32_t)draw(w, RANDOM_STEPS - 3);
    put(w, "{\n");
    for (w->step = 0; w->step < n; ++w->step) {
        const uint64_t state = w->state;
        const size_t before = w->n;
        put(w, RANDOM_STEP "%d\n", w->step);
        put_step(w, seed);
        if ((steps >> w->step & 1) == 0) {
            w->n = before;
            memset(w->results[w->step], 0, sizeof w->results[0]);
        }
        store(w, place);
        w->state = state + UINT64_C(0xa0761d6478bd642f);
    }
    put(w, "}\n");
}

char *random_module(uint64_t first, int32_t count, uint64_t steps) {
    writer w = {0};
    put(&w, ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 16 .b8 words[%d];\n",
        SHARED);
    for (int32_t i = 0; i < count; ++i) {
        if (i % RANDOM_KERNEL == 0)
            put(&w,
                ".visible .entry k%d(.param .u64 in, .param .u64 out) {\n"
                ".reg .b64 %%in, %%out, %%t, %%lo, %%gl, %%gown;\n"
                ".reg .b32 %%w, %%me, %%sh, %%own;\n.reg .b16 %%low, %%high;\n.reg .pred %%nan;\n"
                ".shared .align 16 .b8 memory[%d];\n"
                ".local .align 16 .b8 stack[%d];\nld.param.u64 %%in, [in];\n"
                "ld.param.u64 %%out, [out];\nmov.u32 %%me, %%tid.x;\nmul.wide.u32 %%t, %%me, 8;\n"
                "add.s64 %%in, %%in, %%t;\nadd.s64 %%out, %%out, %%t;\nmov.u32 %%sh, memory;\n"
                "mad.lo.u32 %%own, %%me, 8, %%sh;\nmov.u64 %%lo, stack;\nmov.u64 %%gl, words;\n"
                "add.u64 %%gown, %%gl, %%t;\n",
                i / RANDOM_KERNEL, SHARED, LOCAL);
        put_program(&w, first + (uint64_t)i, i, steps);
        if (i + 1 == count || (i + 1) % RANDOM_KERNEL == 0)
            put(&w, "ret;\n}\n");
    }
    return w.at;
}

uint64_t random_checksum(const uint64_t results[RANDOM_WORDS]) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (int32_t i = 0; i < RANDOM_WORDS; ++i) {
        h = (h ^ results[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}
