/* The reader of PTX modules: what it finds in them, and the line that a malformed one gets. */
#include "sim/ptx/ptx.h"
#include "tests/shim/assay_test.h"

#include <stdint.h>
#include <string.h>

static const char whole[] =
    ".version 8.8\n.target sm_90a\n.address_size 64\n"
    ".global .align 8 .u32 table[2][2] = {{1, 2}, {0x30, -4}};\n"
    ".global .align 8 .u64 where = generic(table)+8;\n"
    ".const .f32 half = 0f3F000000;\n"
    ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b,\n"
    "    .param .align 16 .b8 c[12], .param .f32 d)\n"
    ".reqntid 8, 4 .minnctapersm 2\n"
    "{\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    ".shared .align 16 .b8 tile[100]; .shared .u32 one; .local .align 8 .b8 __local_depot0[24];\n"
    ".loc 1 7 3, function_name $L__info_string0, inlined_at 1 9 5\n"
    "ld.param.u64 %rd1, [b]; mov.b32 %r1, tile; mov.b32 %r2, one;\n"
    "{ .reg .b32 t; mov.b32 t, %r1; L: add.s32 t, t, 1; @!%p1 bra L; }\n"
    "{ .reg .b32 t; mov.b32 t, %tid.x; L: @%p1 bra L; }\n"
    "@%p1 st.global.v2.f32 [%rd1+-8], {0f3F800000, 1.5};\n"
    "T: .branchtargets L1, L2;\nL1: L2: ret;\n}\n"
    ".section .debug_str { $L__info_string0: .b8 95,90 }\n"
    ".file 1 \"k.cu\"\n";

ASSAY_TEST(ptx, a_module_tells_its_kernels_parameters_and_variables, "unit sim") {
    static const ptx_parameter want[] = {{0, 1, 1}, {8, 8, 8}, {16, 12, 16}, {28, 4, 4}};
    ptx_module *module;
    void *address, *table;
    size_t bytes;
    REQUIRE_OK(ptx_module_load(whole, sizeof whole - 1, "whole.ptx", &module));
    const ptx_function *k = ptx_module_find(module, "k");
    REQUIRE(k != NULL && k == ptx_module_kernel(module, 0) && !ptx_module_kernel(module, 1));
    CHECK(k->n_parameters == 4 && k->parameter_bytes == 32);
    for (int i = 0; i < 4; ++i)
        CHECK(memcmp(&k->parameters[i], &want[i], sizeof want[i]) == 0);
    CHECK(k->max_threads == 32 && k->required[0] == 8 && k->required[2] == 1);
    CHECK(k->min_blocks == 2 && k->shared_bytes == 104 && k->local_bytes == 24);
    CHECK_STREQ(ptx_module_target(module), "sm_90a");
    CHECK_STREQ(ptx_module_version(module), "8.8");

    static const uint32_t numbers[] = {1, 2, 0x30, 0xfffffffc};
    REQUIRE_OK(ptx_module_symbol(module, "table", &table, &bytes));
    CHECK(bytes == sizeof numbers && memcmp(table, numbers, sizeof numbers) == 0);
    REQUIRE_OK(ptx_module_symbol(module, "where", &address, &bytes));
    CHECK(bytes == 8 && *(const uint64_t *)address == (uintptr_t)table + 8);
    REQUIRE_OK(ptx_module_symbol(module, "half", &address, &bytes));
    CHECK(bytes == 4 && *(const float *)address == 0.5f);
    CHECK_FAILS(ptx_module_symbol(module, "k", &address, &bytes), ASSAY_ERR_USAGE,
                "whole.ptx has no variable k");
    ptx_module_free(module);
}

ASSAY_TEST(ptx, a_malformed_module_gets_a_line_with_its_place, "unit sim") {
#define HEAD ".version 8.0\n.target sm_80\n"
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"", "x.ptx:1: not PTX: expected .version"},
        {"int main;", "x.ptx:1: not PTX: expected .version at 'int'"},
        {HEAD ".address_size 32", "x.ptx:3: not PTX: addresses of other than 64 bits"},
        {HEAD "/* ", "x.ptx:3: not PTX: a comment without an end"},
        {HEAD ".global .u32 a[2] = {1, 2, 3};", "x.ptx:3: not PTX: a begins with more values"},
        {HEAD ".global .u32 a = b;", "x.ptx:3: not PTX: a begins with what is no address"},
        {HEAD ".global .u32 a; .global .u32 a;", "x.ptx:3: not PTX: a is declared twice"},
        {HEAD ".visible .global .u32 a;" HEAD ".visible .global .u32 a;",
         "x.ptx:5: not PTX: a is declared twice"},
        {HEAD ".visible .entry k() { ret; }" HEAD ".visible .entry k() { ret; }",
         "k is defined twice"},
        {HEAD ".extern .shared .u32 a[];" HEAD ".visible .global .u32 a;",
         "a is declared in two spaces"},
        {HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD
              ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD
              ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD
              ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD
              ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD ".file 65535 \"a\" " HEAD
              ".file 65535 \"a\" " HEAD ".file 65535 \"a\" ",
         "too many files"},
        {HEAD ".global .align 3 .u32 a;", "an alignment that is no power of two"},
        {HEAD ".global .b8 a[99999999999][9999];", "a variable too large"},
        {HEAD ".entry k() {\n add.s32 %r1, 0f12; }", "x.ptx:4: not PTX: a floating-point constant"},
        {HEAD ".entry k() {\n ret;", "x.ptx:4: not PTX: a function without an end"},
        {HEAD ".entry k() { ret }", "x.ptx:3: not PTX: expected a name at '}'"},
        {HEAD ".entry k() { ret; } .entry k() { ret; }", "k is defined twice"},
        {HEAD ".entry k() { .reg .b32 %r<99999999>; }", "too many registers"},
        {HEAD ".entry k() { .reg .b32 %r<600000>, %s<600000>; }", "too many registers"},
        {HEAD ".entry k() { mov.u32 a, 99999999999999999999; }", "a number of more than 64 bits"},
    };
#undef HEAD
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        ptx_module *module;
        CHECK_FAILS(ptx_module_load(bad[i].text, strlen(bad[i].text), "x.ptx", &module),
                    ASSAY_ERR_FILE, bad[i].line);
        CHECK(module == NULL);
    }
}
