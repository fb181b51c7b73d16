/* tex, suld, sust on textures of this program; whole programs: tests/exec/programs/textures.cu. */
#include "sim/ptx/launch.h"
#include "sim/texture.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct parameters {
    uint64_t object;
    float *out;
} parameters;

/* One thread. `body`: %rd1 is the object, %f0 to %f3 are stored. */
static assay_status run(const char *body, const parameters *p) {
    static char text[4096];
    const uint32_t one[] = {1, 1, 1};
    ptx_module *module = NULL;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 object, .param .u64 out)\n{\n"
             ".reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .b64 %%rd<4>; .reg .pred %%p<2>;\n"
             "ld.param.u64 %%rd1, [object]; ld.param.u64 %%rd2, [out];\nmov.f32 %%f0, 0f00000000; "
             "mov.f32 %%f1, %%f0; mov.f32 %%f2, %%f0; mov.f32 %%f3, %%f0; mov.f32 %%f4, "
             "0f3fa00000;\n%s\nst.global.f32 [%%rd2], %%f0; st.global.f32 [%%rd2+4], %%f1; "
             "st.global.f32 [%%rd2+8], %%f2; st.global.f32 [%%rd2+12], %%f3; ret;\n}\n"
             ".file 1 \"user.cu\"\n.file 2 \"/x/texture_indirect_functions.h\"\n",
             body);
    assay_status status = ptx_module_load(text, strlen(text), "t.ptx", &module);
    if (status == ASSAY_OK && ptx_module_unknown(module, 0) != NULL)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "%d: %s", ptx_module_unknown(module, 0)->line,
                            ptx_module_unknown(module, 0)->opcode);
    if (status == ASSAY_OK)
        status = ptx_launch(ptx_module_kernel(module, 0), one, one, one, 0, p);
    ptx_module_free(module);
    return status;
}

/* Two channels of f16, one row of four: 1, -0.5, the smallest subnormal, the largest number. */
static uint16_t halves[] = {0x3c00, 0xb800, 0x0001, 0x7bff, 0, 0x4000, 0, 0x4400};
static sim_texture of_halves(void) {
    return (sim_texture){.n_levels = 1,
                         .level = {{.memory = (char *)halves,
                                    .size = {4},
                                    .dimensions = 1,
                                    .channels = 2,
                                    .bits = 16,
                                    .format = SIM_CHANNEL_FLOAT}},
                         .border = {SIM_BORDER_CLAMP},
                         .linear = true};
}

ASSAY_TEST(ptx_texture, fetches_and_filters_elements_of_f16, "unit sim") {
    const sim_texture t = of_halves();
    float out[4];
    const parameters p = {sim_texture_add(&t), out};
    REQUIRE_OK(run("mov.u32 %r1, 1; tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1}];", &p));
    CHECK(out[0] == 0x1p-24f && out[1] == 65504.0f && out[2] == 0 && out[3] == 0);
    /* At 1.25 there are a quarter of the element before and three quarters of the second. */
    REQUIRE_OK(run("tex.1d.v4.f32.f32 {%f0, _, _, _}|%p1, [%rd1, {%f4}];\n"
                   "selp.f32 %f1, 0f40000000, %f0, %p1;",
                   &p));
    CHECK(out[0] == 0.25f + 0.75f * 0x1p-24f && out[1] == 2);
    CHECK(sim_texture_remove(p.object) && !sim_texture_remove(p.object));
}

/* Sums that an H200 gives, where those of fp64, rounded, would be others. */
ASSAY_TEST(ptx_texture, a_linear_filter_has_the_bits_of_a_gpu, "unit sim") {
    static const struct {
        uint32_t dimensions;
        int32_t fraction[3]; /* of 1/256 */
        float texel[8], sum;
    } rows[] = {
        {1, {231}, {0x1.586794p-3f, -0x1.53efbep-13f}, 0x1.0aab72p-6f},
        {1, {10}, {0x1.c2ca7ap-7f, 0x1.dcc7ccp+8f}, 0x1.2a3304p+4f},
        {1, {48}, {0x1.ec3394p+10f, -0x1.ffb96ep+18f}, -0x1.798b6cp+16f},
        {1, {19}, {0x1.9868ep-122f, -0x1.9ca6fp+66f}, -0x1.ea063ep+62f},
        {1, {244}, {-0x1.38dadep+29f, 0x1.a831d2p-66f}, -0x1.d5484ep+24f},
        {1, {68}, {-0x1.d012cp+48f, -0x1.a259ep-57f}, -0x1.54cdc6p+48f},
        {2,
         {102, 133},
         {0x1.04ac1ap+18f, -0x1.1f0a84p-8f, -0x1.fced2p+8f, -0x1.d9aec2p+19f},
         -0x1.e3c17ep+16f},
        {2,
         {27, 17},
         {0x1.f29dfcp+0f, -0x1.87c548p-2f, 0x1.6e47aep+20f, 0x1.a609cp+19f},
         0x1.71c566p+16f},
        {2,
         {237, 223},
         {-0x1.c4028ap+0f, -0x1.88ef5ep+17f, 0x1.e96a3ap-16f, -0x1.3acf02p+17f},
         -0x1.2ce792p+17f},
        {2,
         {38, 157},
         {-0x1.c195fap+70f, -0x1.bb38p+0f, -0x1.2de17cp-35f, 0x1.1f32f4p-98f},
         -0x1.270a6cp+69f},
        {2,
         {213, 152},
         {-0x1.325996p+94f, -0x1.343094p+40f, 0x1.0abcd4p+122f, 0x1.3eed94p-53f},
         0x1.b172d8p+118f},
        {2,
         {85, 150},
         {0x1.443a6p+36f, -0x1.c93b4p-115f, 0x1.58a8aep-57f, -0x1.e3aa1ap-119f},
         0x1.67b0c2p+34f},
        {3,
         {25, 244, 84},
         {0x1.57cfd6p+15f, -0x1.91ab62p-14f, -0x1.c29332p+7f, 0x1.aff4ap-2f, 0x1.152888p-11f,
          0x1.6eba98p+8f, -0x1.65fad6p-1f, -0x1.4606aap+13f},
         0x1.757352p+9f},
        {3,
         {200, 134, 216},
         {-0x1.a47aa6p-8f, -0x1.2aa5e4p-12f, -0x1.d905a2p-8f, -0x1.97b216p-18f, -0x1.064544p+5f,
          0x1.5f887ep+18f, -0x1.a5c974p+14f, -0x1.8622d8p+12f},
         0x1.aa3804p+16f},
        {3,
         {144, 165, 250},
         {-0x1.45f9bp+9f, 0x1.b3d0fep-4f, -0x1.7c11d8p-6f, -0x1.bf7644p-3f, -0x1.35aaacp-13f,
          0x1.23512cp-18f, 0x1.21bf9ep-14f, -0x1.09a4d6p-14f},
         -0x1.462ac4p+1f},
        {3,
         {112, 72, 59},
         {0x1.e84d82p+108f, 0x1.419ee2p+107f, -0x1.400166p+34f, 0x1.5addd4p+47f, -0x1.9cfe88p-74f,
          -0x1.ab9ebep+11f, -0x1.5c543cp+106f, 0x1.733a52p+103f},
         0x1.7997dap+107f},
        {3,
         {183, 178, 93},
         {0x1.b2c522p-14f, 0x1.429b78p+25f, 0x1.3e0f88p-33f, -0x1.a78d34p-51f, -0x1.3671c2p+12f,
          -0x1.fdf9fap-22f, -0x1.e0f4b6p-99f, 0x1.8792eep+67f},
         0x1.19719cp+65f},
        {3,
         {93, 223, 191},
         {0x1.e76c5ap+27f, 0x1.9b3d6ap+12f, 0x1.043bd6p+68f, -0x1.70362cp-104f, -0x1.fa9914p-45f,
          -0x1.5c57f4p+29f, 0x1.3a0a54p+12f, 0x1.0e8796p-76f},
         0x1.24c35p+65f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        float texel[8];
        memcpy(texel, rows[i].texel, sizeof texel);
        const sim_texture t = {.n_levels = 1,
                               .level = {{.memory = (char *)texel,
                                          .pitch = 2 * sizeof(float),
                                          .slice = 4 * sizeof(float),
                                          .size = {2, 2, 2},
                                          .dimensions = rows[i].dimensions,
                                          .channels = 1,
                                          .bits = 32,
                                          .format = SIM_CHANNEL_FLOAT}},
                               .border = {SIM_BORDER_CLAMP, SIM_BORDER_CLAMP, SIM_BORDER_CLAMP},
                               .linear = true};
        const uint64_t object = sim_texture_add(&t);
        sim_fetch f = {.dimensions = rows[i].dimensions};
        for (int d = 0; d < 3; ++d)
            f.at[d] = 0.5f + (float)rows[i].fraction[d] / 256;
        uint32_t bits[4];
        float sum;
        sim_texture_fetch(object, &f, bits, &(sim_site){.file = "t.cu", .line = 1});
        memcpy(&sum, bits, sizeof sum);
        CHECK_MSG(sum == rows[i].sum, "row %zu: %a, not %a", i, (double)sum, (double)rows[i].sum);
        CHECK(sim_texture_remove(object));
    }
}

ASSAY_TEST(ptx_texture, wrong_objects_and_places_end_the_launch, "unit sim") {
    static char row[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const sim_texture line = of_halves();
    const sim_texture bytes = {.n_levels = 1,
                               .level = {{.memory = row,
                                          .size = {8},
                                          .dimensions = 1,
                                          .channels = 1,
                                          .bits = 8,
                                          .format = SIM_CHANNEL_UNSIGNED}},
                               .surface = true};
    static const char *const load = "mov.u32 %%r1, %d; suld.b.1d.b32.%s {%%r2}, [%%rd1, {%%r1}];\n"
                                    "mov.b32 %%f0, %%r2;";
    char body[256];
    uint32_t bits;
    float out[4];
    parameters p = {sim_texture_add(&line), out};
    /* Inlined twice: told where the program itself calls. */
    const char *plane = ".loc 1 3 0\n.loc 2 152 3, function_name $f, inlined_at 1 3 30\n"
                        ".loc 2 145 4, function_name $g, inlined_at 2 152 3\n"
                        ".loc 2 146 4, function_name $g, inlined_at 2 152 3\n"
                        "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, {%f4, %f4}];";
    CHECK(run(plane, &p) == ASSAY_ERR_KERNEL);
    CHECK_MSG(strstr(assay_error(), "user.cu:3: ") != NULL &&
                  strstr(assay_error(), "other dimensions") != NULL,
              "%s", assay_error());
    CHECK(sim_texture_remove(p.object));
    CHECK(run(plane, &p) == ASSAY_ERR_KERNEL);
    CHECK_MSG(strstr(assay_error(), "wrong texture") != NULL, "%s", assay_error());

    p.object = sim_texture_add(&bytes);
    snprintf(body, sizeof body, load, 4, "trap");
    REQUIRE_OK(run(body, &p));
    memcpy(&bits, out, sizeof bits);
    CHECK(bits == 0x08070605);
    for (int32_t i = 0; i < 2; ++i) {
        snprintf(body, sizeof body, load, i == 0 ? -4 : 6, "trap"); /* outside; between elements */
        CHECK(run(body, &p) == ASSAY_ERR_KERNEL);
        CHECK_MSG(strstr(assay_error(), "wrong surface") != NULL, "%s", assay_error());
    }
    CHECK(sim_texture_remove(p.object));
}

/* Also where two coordinates are as great, where there is no direction, and, without meaning, where
 * it is NaN. */
ASSAY_TEST(ptx_texture, a_direction_meets_one_face_of_a_cube, "unit sim") {
    static float faces[12] = {10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25};
    static const struct {
        float x, y, z, face;
    } all[] = {{3, 1, -2, 0}, {-3, 1, -2, 1}, {0, 1, -0.5f, 2}, {0, -1, 0.5f, 3},
               {1, 1, 2, 4},  {1, 1, -2, 5},  {2, 2, 1, 2},     {2, -2, -2, 5},
               {-2, 1, 2, 4}, {0, 0, 0, 4},   {NAN, 1, -2, 0},  {1, NAN, 0, 0}};
    sim_texture t = {.n_levels = 1,
                     .level = {{.memory = (char *)faces,
                                .pitch = 4,
                                .slice = 4,
                                .size = {1, 1, 6},
                                .dimensions = 2,
                                .cube = true,
                                .channels = 1,
                                .bits = 32,
                                .format = SIM_CHANNEL_FLOAT}},
                     .normalized = true};
    for (uint32_t layers = 1; layers <= 2; ++layers) {
        float out[4];
        t.level[0].layered = layers == 2;
        t.level[0].size[2] = 6 * layers;
        const parameters p = {sim_texture_add(&t), out};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
            char body[256];
            uint32_t bits[3];
            memcpy(bits, &all[i], sizeof bits);
            snprintf(body, sizeof body,
                     "mov.f32 %%f4, 0f%08X; mov.f32 %%f5, 0f%08X; mov.f32 %%f6, 0f%08X;\n"
                     "mov.u32 %%r1, 7; tex.%scube.v4.f32.f32 {%%f0, _, _, _}, [%%rd1, {%s}];",
                     bits[0], bits[1], bits[2], layers == 2 ? "a" : "",
                     layers == 2 ? "%r1, %f4, %f5, %f6" : "%f4, %f5, %f6, %f6");
            REQUIRE_OK(run(body, &p));
            CHECK_MSG(out[0] == 10 * (float)layers + all[i].face, "%zu: %g", i, (double)out[0]);
        }
        CHECK(sim_texture_remove(p.object));
    }
}

ASSAY_TEST(ptx_texture, other_instructions_are_named, "unit sim") {
    static const char *const bodies[] = {
        "tex.cube.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd1, {%r1, %r1, %r1, %r1}];",
        "suld.b.cube.b32.trap {%r2}, [%rd1, {%r1, %r1, %r1, %r1}];",
        "tld4.r.3d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, {%f4, %f4, %f4, %f4}];",
        "tex.grad.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, {%f4}], {%f4}, {%f4};",
        "sust.p.1d.b32.trap [%rd1, {%r1}], {%r2};",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; ++i) {
        CHECK(run(bodies[i], &(parameters){0}) == ASSAY_ERR_UNSUPPORTED);
        const size_t n = strcspn(bodies[i], " ");
        CHECK_MSG(strstr(assay_error(), "9: ") != NULL &&
                      memmem(assay_error(), strlen(assay_error()), bodies[i], n) != NULL,
                  "%s", assay_error());
    }
}
