/* The mutants that each rule makes of a line, tokens that no rule touches, and keys of mutants. */
#include "mutants/equivalent.h"
#include "mutants/mutant.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 1024, MOST = 8 };

/* A kernel's file of one function with these lines. */
static void make(mutants *all, source *file, char text[TEXT], const char *lines) {
    snprintf(text, TEXT, "static void f() {\n%s\n}\n", lines);
    *file = (source){.path = "kernels/op/v1.cu", .text = text};
    *all = (mutants){0};
    REQUIRE_OK(mutants_add(all, file));
}

static const mutant *find(const mutants *all, const char *by, const char *after) {
    for (int32_t i = 0; i < all->count; ++i)
        if (strcmp(all->item[i].change.rule, by) == 0 && strcmp(all->item[i].after, after) == 0)
            return &all->item[i];
    return NULL;
}

static int32_t count(const mutants *all, const char *by) {
    int32_t n = 0;
    for (int32_t i = 0; i < all->count; ++i)
        n += strcmp(all->item[i].change.rule, by) == 0;
    return n;
}

static const struct {
    const char *rule, *line, *after[MOST]; /* all that the rule makes of it */
} examples[] = {
    {"relational", "g(a < b);", {"g(a <= b);", "g(a < -1 + b);"}},
    {"relational", "g(a >= b);", {"g(a > b);"}},
    {"relational", "g(a == b);", {"g(a != b);"}},
    {"relational", "g<int>(pack<T>::size);", {NULL}},
    {"arithmetic", "g(a + b);", {"g(a - b);"}},
    {"arithmetic", "g(a % b);", {"g(a / b);"}},
    {"arithmetic", "T *p = &q;", {NULL}},
    {"logical", "g(a && b);", {"g(a || b);"}},
    {"logical", "g(!a);", {"g(a);"}},
    {"assignment", "a += b;", {"a = b;"}},
    {"sign", "g(-a);", {"g(a);"}},
    {"constant", "g(4u);", {"g(5u);", "g(3u);", "g(0u);"}},
    {"constant", "g(1);", {"g(2);", "g(0);"}},
    {"constant", "g(0);", {"g(1);"}},
    {"constant", "g(0xffu);", {NULL}},
    {"real constant", "g(1.0f);", {"g((1.0f * (1 + 1e-4f)));", "g((1.0f + 1));"}},
    {"guard", "if (a) b();", {"if (true) b();", "if (false) b();"}},
    {"guard", "g(a ? b : c);", {"g(a || true ? b : c);", "g(a && false ? b : c);"}},
    {"guard", "if (status == ASSAY_OK) b();", {"if (false) b();"}},
    {"addend", "a = b + c[i];", {"a = b ;"}},
    {"addend", "a = b + c * d;", {NULL}},
    {"statement", "g(a);", {";"}},
    {"statement", "a[i] = b;", {";"}},
    {"statement", "int a = b;", {NULL}},
    {"statement", "pack<T> p;", {NULL}},
    {"statement", "for (;;) continue;", {"for (;;) ;"}},
    {"arguments", "g(a, b, 1);", {"g(b, a, 1);"}},
    {"arguments", "g(a, p->b);", {"g(p->b, a);"}},
    {"arguments", "s = fma_(a, b, s);", {"s = fma_(a, s, b);"}},
    {"operands", "a[i * n + j] = 0;", {"a[i * j + n] = 0;"}},
    {"barrier", "__syncthreads();", {"(void)0;"}},
    {"shuffle",
     "s += __shfl_xor_sync(0xffffffffu, s, 1);",
     {"s += __shfl_down_sync(0xffffffffu, s, 1);", "s += __shfl_up_sync(0xffffffffu, s, 1);"}},
    {"mask", "s = g(UINT32_MAX, s);", {"s = g(0x7fffffffu, s);", "s = g(0x0000ffffu, s);"}},
    {"atomic", "atomicAdd(p + i, v);", {"*(p + i) += v;"}},
    {"wait", "cp_async_wait<0>();", {"cp_async_wait<0 + 1>();"}},
    {"stage", "g(x + stage * N);", {"g(x + (1 - stage) * N);"}},
    {"stage", "g(t % STAGES);", {"g((t + 1) % STAGES);"}},
    {"matrix load", "ldmatrix_x4(r, p);", {"ldmatrix_x4_trans(r, p);"}},
    {"precision",
     "s = fma_(a * b, c, s);",
     {"s = fma_(mutant_tf32(a * b), c, s);", "s = fma_(mutant_bf16(a * b), c, s);"}},
    {"eps", "g(sqrtf(v + t.eps));", {"g(sqrtf(v + 0));"}},
    {"beginning", "float m = NO_SCORE;", {"float m = 0;"}},
    {"extreme", "m = fmaxf(m, s);", {"m = fminf(m, s);"}},
    {"scale", "y[i] = narrow<T>(s);", {"y[i] = narrow<T>(mutant_scaled(s));"}},
    {"scale", "y[i] = s;", {"y[i] = mutant_scaled(s);"}},
    {"scale", "y = s;", {NULL}},
    {"element", "y[i] = s;", {"y[i] = mutant_one_element(s);"}},
    {"tail", "y[i] = s;", {"if (mutant_not_last()) y[i] = s;"}},
    {"ignored",
     "g(widen(dy[i]));",
     {"g(mutant_one(widen(dy[i])));", "g(mutant_zero(widen(dy[i])));"}},
};

ASSAY_TEST(mutants, rules_make_what_they_say, "unit") {
    for (size_t e = 0; e < sizeof examples / sizeof *examples; ++e) {
        mutants all;
        source file;
        char text[TEXT];
        int32_t wanted = 0;
        make(&all, &file, text, examples[e].line);
        for (; wanted < MOST && examples[e].after[wanted]; ++wanted)
            CHECK_MSG(find(&all, examples[e].rule, examples[e].after[wanted]), "%s: no %s",
                      examples[e].line, examples[e].after[wanted]);
        CHECK_MSG(count(&all, examples[e].rule) == wanted, "%s: %d by rule %s, not %d",
                  examples[e].line, (int)count(&all, examples[e].rule), examples[e].rule,
                  (int)wanted);
        mutants_clear(&all);
    }
}

/* A rule that no example shows might do nothing at all. */
ASSAY_TEST(mutants, every_rule_has_an_example, "unit") {
    const struct {
        const rule *rule;
        int32_t count;
    } tables[] = {{rules_plain, n_rules_plain}, {rules_device, n_rules_device}};
    for (int t = 0; t < 2; ++t)
        for (int32_t r = 0; r < tables[t].count; ++r) {
            bool shown = false;
            for (size_t e = 0; e < sizeof examples / sizeof *examples; ++e)
                shown = shown || (strcmp(examples[e].rule, tables[t].rule[r].name) == 0 &&
                                  examples[e].after[0]);
            CHECK_MSG(shown, "no example of %s", tables[t].rule[r].name);
        }
}

/* What the host's compiler does not see, what it proves itself, and what is no code. */
ASSAY_TEST(mutants, leave_alone_what_says_nothing, "unit") {
    static const char *const lines[] = {
        "/* a < b */",
        "// a + b",
        "#define F(a, b) (a + b)",
        "#if defined(__CUDACC__)\ng(a + b);\n#endif",
        "static_assert(A < B, \"a + b\");",
        "typedef pack<T, 4> four;",
        "template <int N = 4>",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        mutants all;
        source file;
        char text[TEXT];
        make(&all, &file, text, lines[i]);
        CHECK_MSG(all.count == 0, "%s became %s", lines[i], all.count > 0 ? all.item[0].after : "");
        mutants_clear(&all);
    }
}

ASSAY_TEST(mutants, keep_the_other_branch_of_nvcc_s, "unit") {
    mutants all;
    source file;
    char text[TEXT];
    make(&all, &file, text, "#if defined(__CUDACC__)\ng(a + b);\n#else\ng(a * b);\n#endif");
    CHECK(find(&all, "arithmetic", "g(a + b);")); /* the product as a sum */
    CHECK(count(&all, "arithmetic") == 1);
    mutants_clear(&all);
}

static int32_t count_lines(const char *text) {
    int32_t lines = 0;
    for (; *text; ++text)
        lines += *text == '\n';
    return lines;
}

/* So that reports name the lines of the kernel as it is. */
ASSAY_TEST(mutants, keep_the_number_of_lines, "unit") {
    mutants all;
    source file;
    char text[TEXT];
    make(&all, &file, text, "g(a,\n  b + c);\ny[i] =\n    s;");
    REQUIRE(all.count > 0);
    for (int32_t i = 0; i < all.count; ++i) {
        char *changed = mutant_text(&all.item[i]);
        REQUIRE(changed != NULL);
        CHECK_MSG(count_lines(changed) == count_lines(text), "%s", changed);
        free(changed);
    }
    mutants_clear(&all);
}

/* A line that moves keeps its mutants; two lines that are alike have two. */
ASSAY_TEST(mutants, are_known_by_what_they_say, "unit") {
    mutants one, other;
    source files[2];
    char texts[2][TEXT];
    make(&one, &files[0], texts[0], "a = b + c;\na = b + c;");
    make(&other, &files[1], texts[1], "int unrelated;\n\n  a =  b + c;");
    const mutant *first = find(&one, "arithmetic", "a = b - c;");
    const mutant *moved = find(&other, "arithmetic", "a = b - c;");
    REQUIRE(first && moved && count(&one, "arithmetic") == 2);
    CHECK(first->key == moved->key);
    CHECK(first->change.line != moved->change.line);
    CHECK(first->occurrence == 1);
    for (int32_t i = 0; i < one.count; ++i)
        for (int32_t k = 0; k < i; ++k)
            CHECK(one.item[i].key != one.item[k].key);
    mutants_clear(&one);
    mutants_clear(&other);
}

/* ---- the list ---- */

static assay_status read_list(equivalents *list, const char *text) {
    char path[] = "/tmp/assay-mutants-XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    REQUIRE(write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    const assay_status status = equivalents_read(list, path);
    unlink(path);
    return status;
}

ASSAY_TEST(mutants, are_found_on_the_list, "unit") {
    mutants all;
    source file;
    equivalents list;
    char text[TEXT];
    make(&all, &file, text, "a = b + c;\nd = e + f;");
    REQUIRE_OK(read_list(&list,
                         "# what is said here\n"
                         "\n"
                         "kernels/op/v1.cu | arithmetic | a = b + c; -> a = b - c; | 1 | b is 0\n"
                         "kernels/@ | addend | d = e + @ -> @ | 1 | f is 0\n"));
    const mutant *exact = find(&all, "arithmetic", "a = b - c;");
    const mutant *other = find(&all, "arithmetic", "d = e - f;");
    const mutant *many = find(&all, "addend", "d = e ;");
    REQUIRE(exact && other && many && list.count == 2);
    CHECK_STREQ(equivalents_find(&list, exact), "b is 0");
    CHECK(equivalents_find(&list, other) == NULL);
    CHECK(list.met[0] && !list.met[1]);
    CHECK_STREQ(equivalents_find(&list, many), "f is 0");
    equivalents_clear(&list);
    mutants_clear(&all);
}

ASSAY_TEST(mutants, must_have_a_reason, "unit") {
    equivalents list;
    CHECK_FAILS(read_list(&list, "kernels/op/v1.cu | sign | -a -> a | 1 |\n"), ASSAY_ERR_FILE,
                "no reason");
}
