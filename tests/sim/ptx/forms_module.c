#include "tests/sim/ptx/forms.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char classes[] = "fdsilhHnpk";

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t pick(uint64_t r, const uint64_t *values, size_t n) {
    return values[r % n];
}
#define PICK(r, ...)                                                                               \
    pick((r), (const uint64_t[]){__VA_ARGS__},                                                     \
         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* A third are values at which formats and rules end, a third are near 1, a third are any bits. */
static uint64_t number(char class, uint64_t r, uint64_t any) {
    const uint64_t kind = any >> 60;
    switch (class) {
    case 'f':
        if (kind < 5)
            return PICK(r, 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                        0x7fc00000, 0xffc12345, 0x7f812345, 1, 0x80000001, 0x007fffff, 0x00800000,
                        0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3fc00000, 0xbf000000,
                        0x4b000000, 0x4b800001, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000,
                        0xdf000000, 0x5f800000, 0x33800000, 0x477fe000, 0x477ff000, 0x38800000,
                        0x33000000, 0x42fe0000, 0x43e00000, 0x43e80000, 0x7f7f8000);
        return kind < 10 ? 0x3d000000 + (r & 0x82ffffff) : any & 0xffffffff;
    case 'd':
        if (kind < 5)
            return PICK(r, 0, UINT64_C(1) << 63, UINT64_C(0x3ff0000000000000),
                        UINT64_C(0xbff0000000000000), UINT64_C(0x7ff0000000000000),
                        UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000000), 1,
                        UINT64_C(0x0010000000000000), UINT64_C(0x7fefffffffffffff),
                        UINT64_C(0xffefffffffffffff), UINT64_C(0x3fe0000000000000),
                        UINT64_C(0x47efffffe0000000), UINT64_C(0x47efffffefffffff),
                        UINT64_C(0x3810000000000000), UINT64_C(0x36a0000000000000),
                        UINT64_C(0x41dfffffffc00000), UINT64_C(0x43e0000000000000),
                        UINT64_C(0xc3e0000000000000), UINT64_C(0x43f0000000000000),
                        UINT64_C(0x380fffffe0000001));
        return kind < 10 ? UINT64_C(0x3fd0000000000000) + (r & UINT64_C(0x803fffffffffffff)) : any;
    case 's':
        return kind < 6 ? PICK(r, 0, 1, 0xffff, 0x7fff, 0x8000, 2, 0xff) : any & 0xffff;
    case 'i':
        return kind < 6 ? PICK(r, 0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 2, 0xffff, 0xff00ff)
                        : any & 0xffffffff;
    case 'l':
        return kind < 6
                   ? PICK(r, 0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, 0xffffffff,
                          UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1, UINT64_C(0x8000008000000000))
                   : any;
    case 'h':
    case 'H':
        if (kind < 5)
            any = PICK(r, 0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xffff, 1, 0x8001,
                       0x03ff, 0x0400, 0x7bff, 0xfbff, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc1,
                       0x7f7f, 0x0080, 0x007f) |
                  (r >> 32 & 0x7fff) << 16;
        else if (kind < 10)
            any = 0x38003800 + (r & 0x83ff83ff);
        return class == 'h' ? any & 0xffff : any & 0xffffffff;
    case 'n':
        return r % 80;
    case 'p':
        return r & 1;
    default:
        return (any & 0xffffffff) == 0 ? 7 : any & 0xffffffff;
    }
}

void forms_operands(uint64_t *operands) {
    uint64_t state = 2026;
    for (int32_t c = 0; classes[c] != '\0'; ++c)
        for (int32_t i = 0; i < FORM_OPERANDS * FORM_TUPLES; ++i) {
            const uint64_t r = next(&state), any = next(&state);
            operands[c * FORM_OPERANDS * FORM_TUPLES + i] = number(classes[c], r, any);
        }
}

uint64_t form_checksum(const uint64_t results[FORM_TUPLES]) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (int32_t i = 0; i < FORM_TUPLES; ++i)
        for (int32_t b = 0; b < 64; b += 8)
            h = (h ^ (results[i] >> b & 255)) * UINT64_C(1099511628211);
    return h;
}

/* ---- the module */

typedef struct text {
    char *at;
    size_t n, room;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...) {
    va_list args;
    if (t->room - t->n < 400) {
        t->room = 2 * t->room + 4096;
        char *grown = realloc(t->at, t->room);
        if (grown == NULL)
            abort();
        t->at = grown;
    }
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->at + t->n, t->room - t->n, format, args);
    va_end(args);
}

static const char *register_type(char class) {
    switch (class) {
    case 'f':
        return "f32";
    case 'd':
        return "f64";
    case 's':
    case 'h':
        return "b16";
    case 'l':
        return "b64";
    case 'p':
        return "pred";
    default:
        return "b32";
    }
}

static void put_operand(text *t, char class, int32_t i) {
    const size_t offset =
        ((size_t)(strchr(classes, class) - classes) * FORM_OPERANDS + (size_t)i) * FORM_TUPLES * 8;
    put(t, ".reg .%s %%a%d;\n", register_type(class), i);
    if (class == 'p')
        put(t, "ld.global.u32 %%w, [%%in+%zu];\nsetp.ne.u32 %%a%d, %%w, 0;\n", offset, i);
    else
        put(t, "ld.global.%s %%a%d, [%%in+%zu];\n", register_type(class), i, offset);
}

/* "s32", "bf16x2", "e4m3x2", "pred"; "f4e" is a mode of prmt. */
static bool is_type(const char *part, size_t n) {
    if ((n == 4 && memcmp(part, "pred", n) == 0) || memcmp(part, "e4m3", 4) == 0 ||
        memcmp(part, "e5m2", 4) == 0)
        return true;
    if (memcmp(part, "bf", 2) == 0 || memcmp(part, "tf", 2) == 0)
        ++part;
    const size_t digits = strspn(part + 1, "0123456789");
    return strchr("usbf", *part) != NULL && digits > 0 && part[1 + digits] != 'e';
}

/* `turned`: what is no type stands in the opposite order. */
static void put_opcode(text *t, const char *opcode, bool turned) {
    enum { MOST = 16 };
    const char *part[MOST];
    size_t length[MOST];
    int32_t n = 0, others[MOST], n_others = 0;
    for (const char *at = opcode; n < MOST; at += length[n++] + 1) {
        part[n] = at;
        length[n] = strcspn(at, ".#");
        if (n > 0 && !is_type(at, length[n]))
            others[n_others++] = n;
        if (at[length[n]] != '.') {
            ++n;
            break;
        }
    }
    for (int32_t k = 0, other = 0; k < n; ++k) {
        const int32_t from =
            turned && k > 0 && !is_type(part[k], length[k]) ? others[n_others - 1 - other++] : k;
        put(t, "%s%.*s", k > 0 ? "." : "", (int)length[from], part[from]);
    }
}

static void put_form(text *t, const form *f, int32_t i, bool turned) {
    const int32_t n = (int32_t)strlen(f->operands);
    const char *type = register_type(f->result[0]);
    put(t, "{\n.reg .%s %%d;\n.reg .b32 %%w;\n", type);
    for (int32_t k = 0; k < n; ++k)
        put_operand(t, f->operands[k], k);
    const char *insert = strchr(f->opcode, '#'); /* a constant as the last operand */
    put_opcode(t, f->opcode, turned);
    put(t, " %%d");
    for (int32_t k = 0; k < n; ++k)
        put(t, ", %%a%d", k);
    put(t, insert != NULL ? ", %s;\n" : ";\n", insert != NULL ? insert + 1 : "");
    if (f->result[0] == 'p')
        put(t, "selp.b32 %%w, 1, 0, %%d;\nst.global.b32 [%%out+%d], %%w;\n}\n",
            i * FORM_TUPLES * 8);
    else
        put(t, "st.global.%s [%%out+%d], %%d;\n}\n", type, i * FORM_TUPLES * 8);
}

char *forms_module(bool turned) {
    text t = {0};
    put(&t, ".version 8.0\n.target sm_90\n.address_size 64\n");
    for (int32_t i = 0; i < n_forms; ++i) {
        if (i % FORM_KERNEL == 0)
            put(&t,
                ".visible .entry k%d(.param .u64 in, .param .u64 out) {\n.reg .b64 %%in, %%out, "
                "%%t;\n.reg .b32 %%n;\nld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
                "mov.u32 %%n, %%tid.x;\nmul.wide.u32 %%t, %%n, 8;\nadd.s64 %%in, %%in, %%t;\n"
                "add.s64 %%out, %%out, %%t;\n",
                i / FORM_KERNEL);
        put_form(&t, &forms[i], i, turned);
        if (i + 1 == n_forms || (i + 1) % FORM_KERNEL == 0)
            put(&t, "ret;\n}\n");
    }
    return t.at;
}
