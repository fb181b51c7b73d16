/* Bindings: what they say is read, and what they say wrong gets one line. */
#include "engine/binding.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char whole[] = "# how rms.so is called\n"
                            "op = \"rmsnorm\"\n"
                            "forward = int rms(const float *x, __nv_bfloat16* __restrict__ w, "
                            "float *r?, int64_t rows, x.stride, float eps, void *workspace, "
                            "cudaStream_t stream) # and why\n"
                            "  backward = \"__tvm_ffi_rms_grad(x, dy, 1e-5, -1)\"\n"
                            "workspace = x.rows * 4\n";

ASSAY_TEST(binding, what_it_says_is_read, "unit") {
    binding b;
    REQUIRE_OK(binding_parse("it", whole, &b));
    const binding_launcher *f = &b.stage[ASSAY_FORWARD], *g = &b.stage[ASSAY_BACKWARD];
    CHECK_STREQ(b.op, "rmsnorm");
    CHECK_STREQ(f->symbol, "rms");
    CHECK(f->result == BINDING_STATUS && !f->tvm_ffi && f->count == 8);
    CHECK(f->argument[0].type == BINDING_POINTER && f->argument[0].dtype == ASSAY_F32);
    CHECK(f->argument[1].type == BINDING_POINTER && f->argument[1].dtype == ASSAY_BF16);
    CHECK(f->argument[2].optional && strcmp(f->argument[2].value, "r") == 0);
    CHECK(f->argument[3].type == BINDING_INT64 && f->argument[4].type == BINDING_UNTOLD);
    CHECK_STREQ(f->argument[4].value, "x.stride");
    CHECK(f->argument[5].type == BINDING_FLOAT);
    CHECK(f->argument[6].any && f->argument[7].any);
    CHECK(g->tvm_ffi && g->count == 4 && strcmp(g->argument[3].value, "-1") == 0);
    CHECK_STREQ(b.workspace, "x.rows * 4");
}

ASSAY_TEST(binding, its_text_reads_back_as_itself, "unit") {
    binding b, again;
    char *text, *second;
    REQUIRE_OK(binding_parse("it", whole, &b));
    REQUIRE_OK(binding_format(&b, &text));
    REQUIRE_OK(binding_parse("it", text, &again));
    REQUIRE_OK(binding_format(&again, &second));
    CHECK_STREQ(text, second);
    free(text);
    free(second);
}

ASSAY_TEST(binding, types_and_results_are_cs, "unit") {
    static const char text[] =
        "// by whom, and why\n"
        "order = any # sums\n"
        "forward = cudaError_t f(half *x, double eps, long int n, int d, CUstream stream)\n"
        "backward = int32_t g(const double *dy)\n"
        "workspace = 1024   # bytes\n";
    binding b, again;
    char *formatted, *second;
    REQUIRE_OK(binding_parse("it", text, &b));
    const binding_launcher *f = &b.stage[ASSAY_FORWARD];
    CHECK(b.any_order && f->result == BINDING_CUDA_ERROR && f->count == 5);
    CHECK(f->argument[0].type == BINDING_POINTER && f->argument[0].dtype == ASSAY_F16);
    CHECK(f->argument[1].type == BINDING_DOUBLE && f->argument[2].type == BINDING_INT64);
    CHECK(f->argument[3].type == BINDING_INT32);
    CHECK(f->argument[4].type == BINDING_POINTER && f->argument[4].any);
    CHECK(b.stage[ASSAY_BACKWARD].result == BINDING_STATUS);
    CHECK(b.stage[ASSAY_BACKWARD].argument->dtype == ASSAY_F64);
    CHECK_STREQ(b.workspace, "1024");
    REQUIRE_OK(binding_format(&b, &formatted));
    REQUIRE_OK(binding_parse("it", formatted, &again));
    REQUIRE_OK(binding_format(&again, &second));
    CHECK_STREQ(formatted, second);
    CHECK(again.any_order && again.stage[ASSAY_FORWARD].result == BINDING_CUDA_ERROR);
    free(formatted);
    free(second);
}

ASSAY_TEST(binding, of_kernels_has_their_geometry, "unit") {
    static const char text[] = "forward.grid = \"cdiv(x.rows, 4), d\" # blocks\n"
                               "forward = k(float *x, d, 0)\n"
                               "forward.block = 32, 4\n"
                               "forward.shared = d * 4;\n"
                               "require = \"d % 4 == 0 && d <= 128\"\n";
    binding b, again;
    char *formatted;
    REQUIRE_OK(binding_parse("it", text, &b));
    CHECK(binding_is_of_kernels(&b));
    CHECK_STREQ(b.geometry[ASSAY_FORWARD].grid, "cdiv(x.rows, 4), d");
    CHECK_STREQ(b.geometry[ASSAY_FORWARD].block, "32, 4");
    CHECK_STREQ(b.geometry[ASSAY_FORWARD].shared, "d * 4");
    CHECK_STREQ(b.require, "d % 4 == 0 && d <= 128");
    REQUIRE_OK(binding_format(&b, &formatted));
    REQUIRE_OK(binding_parse("it", formatted, &again));
    CHECK_STREQ(again.geometry[ASSAY_FORWARD].grid, "cdiv(x.rows, 4), d");
    CHECK_STREQ(again.geometry[ASSAY_FORWARD].shared, "d * 4");
    CHECK_STREQ(again.require, b.require);
    free(formatted);
    REQUIRE_OK(binding_of_comments("k.ptx",
                                   ".version 8.0\n  // assay: forward = k(float *x)\n"
                                   "// assay: forward.grid = 1\n// assay: forward.block = 32",
                                   &b));
    CHECK_STREQ(b.stage[ASSAY_FORWARD].symbol, "k");
    CHECK_FAILS(binding_of_comments("k.ptx", ".version 8.0\n", &b), ASSAY_ERR_USAGE,
                "k.ptx: it does not say how it is launched");
}

#define DIGITS "11111111111111111111111111111111111111111111111111"

ASSAY_TEST(binding, a_wrong_one_gets_a_line, "unit") {
    static const struct {
        const char *text, *line;
    } wrong[] = {
        {"", "no line forward = ..."},
        {"backward = f(x)", "no line forward = ..."},
        {"forward", "it: binding, line 1: expected KEY = VALUE"},
        {"\nforwards = f(x)", "it: binding, line 2: unknown key forwards"},
        {"forward = ", "a function's name is missing"},
        {"forward = f", "f needs its arguments"},
        {"forward = f(", "an argument is missing"},
        {"forward = f(x", "expected , or )"},
        {"forward = f(x,)", "an argument is missing"},
        {"forward = f(x y)", "x is no type"},
        {"forward = f(char *x)", "char is no type"},
        {"forward = f(*x)", "an argument is missing"},
        {"forward = f(const *x)", "a * needs a type"},
        {"forward = f(const int64_t *ids)", "64-bit integers"},
        {"forward = f(x) g", "what follows forward"},
        {"forward = \"f(x)", "a \" is missing"},
        {"forward = f(x)\nforward = g(x)", "line 2: forward is there twice"},
        {"forward = f(x)\nworkspace = x.rows +", "line 2: x.rows +: cannot be read at its end"},
        {"forward = f(x)\nforward.blocks = 1", "unknown key forward.blocks"},
        {"forward = f(x)\nforward.grid = 1\nforward.block = 1, 2, 3, 4", "too many values"},
        {"forward = f(x)\nforward.shared = 1, 2", "too many values"},
        {"forward = f(x)\nforward.grid = 1", "a kernel needs forward.grid and forward.block"},
        {"forward = f(x)\nbackward.grid = 1", "no line backward = KERNEL(...)"},
        {"forward = f(x)\nbackward = g(x)\nforward.grid = 1\nforward.block = 1",
         "a kernel needs backward.grid and backward.block"},
        {"forward = f(x)\nbackward = g(x)\nbackward.grid = 1\nbackward.block = 1",
         "backward is a kernel, and forward is not"},
        {"forward = f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
         "longer than 63 letters"},
        {"forward = f(0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,"
         "9,0)",
         "more than 40 arguments"},
        {"\x1b[2J", "expected KEY = VALUE"},
        {"/", "expected KEY = VALUE"},
        {"forward = f(x)\nworkspace = \x1b[2J", "line 2: ?[2J: cannot be read"},
        {"forward = f(x)\nworkspace = ", "binding, line 2: "},
        {"forward = f(x)\nworkspace = " DIGITS DIGITS DIGITS, "an expression of more than 127"},
        {"op = \nforward = f(x)", "line 1: op needs an operator's name"},
        {"order = \nforward = f(x)", "line 1: order is any, or left out"},
        {"order = all\nforward = f(x)", "line 1: order is any, or left out"},
        {"order = any_order\nforward = f(x)", "line 1: order is any, or left out"},
        {"forward = f(x)\nforward.block = 1", "a kernel needs forward.grid and forward.block"},
        {"forward = f(x)\nforward.shared = 1", "a kernel needs forward.grid and forward.block"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        binding b;
        CHECK_FAILS(binding_parse("it", wrong[i].text, &b), ASSAY_ERR_USAGE, wrong[i].line);
    }
}

ASSAY_TEST(binding, a_launcher_is_found_by_its_name, "unit") {
    static const char source[] =
        "// int softmax_forward(const double *wrong)\n"
        "#include <stdint.h>\n"
        "static __global__ void softmax_forward_kernel(const float *x) {}\n"
        "__global__ void softmax(const float *x) {}\n"
        "extern \"C\" int softmax_forward(const float *x, float *y,\n"
        "                               int64_t x_rows, int d, cudaStream_t stream) {\n"
        "    softmax_forward_kernel<<<1, d>>>(x);\n"
        "    return 0;\n"
        "}\n"
        "extern \"C\" {\n"
        "void softmax_backward(const float *y, const float *dy, float *dx);\n"
        "}\n";
    binding b;
    REQUIRE_OK(binding_of_source("it", source, "softmax", &b));
    CHECK_STREQ(b.stage[ASSAY_FORWARD].symbol, "softmax_forward");
    CHECK(b.stage[ASSAY_FORWARD].result != BINDING_NO_RESULT && b.stage[ASSAY_FORWARD].count == 5);
    CHECK(b.stage[ASSAY_FORWARD].argument->dtype == ASSAY_F32);
    CHECK_STREQ(b.stage[ASSAY_BACKWARD].symbol, "softmax_backward");
    CHECK(b.stage[ASSAY_BACKWARD].result == BINDING_NO_RESULT &&
          b.stage[ASSAY_BACKWARD].count == 3);
    CHECK_FAILS(binding_of_source("it", source, "rope", &b), ASSAY_ERR_USAGE,
                "extern \"C\" rope_forward");
}

ASSAY_TEST(binding, comments_of_a_source_name_what_is_passed, "unit") {
    static const char source[] =
        "// assay: forward = launch(x, w, y, x.rows, x.cols)\n"
        "extern \"C\" int launch(const float *a, const float *b, float *c, int n, int m);\n";
    binding b;
    REQUIRE_OK(binding_of_source("it", source, "weighted_sum", &b));
    const binding_launcher *l = &b.stage[ASSAY_FORWARD];
    CHECK(l->result != BINDING_NO_RESULT && l->count == 5);
    CHECK_STREQ(l->argument[3].value, "x.rows");
    CHECK(l->argument[3].type == BINDING_INT32 && l->argument[2].dtype == ASSAY_F32);
    CHECK_FAILS(binding_of_source("it", "// assay: forward = f(x\n", "rope", &b), ASSAY_ERR_USAGE,
                "it: binding, line 1: expected , or )");
}

/* What a source has beside the launcher, or in its place; `symbol` NULL: none is found. */
ASSAY_TEST(binding, only_what_c_can_call_is_a_launcher, "unit") {
    static const struct {
        const char *source, *symbol, *backward;
    } given[] = {
        {"int rope(float *x);", "rope", ""},
        {"int forward(float *x); int backward(float *x);", "forward", "backward"},
        {"int n; int rope_forward (float *x);", "rope_forward", ""},
        {"void f() {} int rope_forward\n(float *x) {}", "rope_forward", ""},
        {"extern \"C\" { int rope_forward(float *x);", "rope_forward", ""},
        {"extern \"C\" int rope_forward(float *x);", "rope_forward", ""},
        {"/* int rope(half *x)\n of old */ int rope_forward(float *x);", "rope_forward", ""},
        {"int rope_forward(float *x); /* without an end", "rope_forward", ""},
        {"static int rope_forward(float *x); int rope(float *x);", "rope", ""},
        {"static inline int rope_forward(float *x);", NULL, NULL},
        {"template int rope_forward(char *x);", NULL, NULL},
        {"status rope_forward(float *x);", NULL, NULL},
        {"int *rope_forward(float *x);", NULL, NULL},
        {"rope_forward(x);", NULL, NULL},
        {"int rope_forward", NULL, NULL},
        {"int rope_forward(float *x", NULL, NULL},
        {"int my_rope_forward(float *x);", NULL, NULL},
        {"int rope_forward(matrix x);", NULL, NULL},
        {"/* int rope_forward(float *x);", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
        binding b;
        const assay_status status = binding_of_source("it", given[i].source, "rope", &b);
        CHECK_MSG((status == ASSAY_OK) == (given[i].symbol != NULL), "%s: status %d",
                  given[i].source, (int)status);
        if (status != ASSAY_OK || given[i].symbol == NULL)
            continue;
        CHECK_STREQ(b.stage[ASSAY_FORWARD].symbol, given[i].symbol);
        CHECK_STREQ(b.stage[ASSAY_BACKWARD].symbol, given[i].backward);
        CHECK(b.stage[ASSAY_FORWARD].argument->dtype == ASSAY_F32);
    }
}

/* Of a declaration that is not there, or is of another count, nothing is taken. */
ASSAY_TEST(binding, comments_stand_without_a_declaration, "unit") {
    static const char comment[] = "// assay: forward = int launch(x, y)\n";
    static const char *const declared[] = {"", "void launch(float *x);",
                                           "void launch(float *x, float *y);"};
    for (int i = 0; i < 3; ++i) {
        char source[256];
        binding b;
        snprintf(source, sizeof source, "%s%s", comment, declared[i]);
        REQUIRE_OK(binding_of_source("it", source, "rope", &b));
        const binding_launcher *l = &b.stage[ASSAY_FORWARD];
        CHECK(l->count == 2 && l->result == BINDING_STATUS);
        CHECK(l->argument->type == (i == 2 ? BINDING_POINTER : BINDING_UNTOLD));
    }
}

ASSAY_TEST(binding, of_tvm_ffi_passes_all, "unit") {
    binding b;
    binding_of_tvm_ffi("f", NULL, &b);
    CHECK_STREQ(b.stage[ASSAY_FORWARD].symbol, "__tvm_ffi_f");
    CHECK(b.stage[ASSAY_FORWARD].tvm_ffi && b.stage[ASSAY_FORWARD].count == 1);
    CHECK_STREQ(b.stage[ASSAY_FORWARD].argument->value, "all");
    CHECK_STREQ(b.stage[ASSAY_BACKWARD].symbol, "");
    binding_of_tvm_ffi("f", "g", &b);
    CHECK_STREQ(b.stage[ASSAY_BACKWARD].symbol, "__tvm_ffi_g");
}
