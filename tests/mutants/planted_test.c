/* Planted faults: each kind is found by a case on which its predicate holds, and only by those. */
#include "engine/reach.h"
#include "mutants/planted.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static const assay_op *op_called(const char *name) {
    const assay_op *op = assay_op_find(name, strlen(name));
    REQUIRE(op != NULL);
    return op;
}

static bool holds_for(const planted *p, const char *text) {
    assay_case c;
    assay_problem problem;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_problem_init(&problem, &c));
    const bool holds = planted_holds(p, &c, &problem.sig, &problem);
    assay_problem_clear(&problem);
    return holds;
}

static bool is_found_by(const planted *p, const char *text) {
    const assay_device *sim;
    assay_case c;
    bool found = false;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(planted_is_found(p, &c, sim, &found));
    return found;
}

static void expect(const planted *p, const char *without, const char *with) {
    CHECK_MSG(!holds_for(p, without), "%s", without);
    CHECK_MSG(holds_for(p, with), "%s", with);
    CHECK_MSG(is_found_by(p, with), "%s", with);
}

ASSAY_TEST(planted, each_class_shows_where_its_predicate_holds, "mutants sim") {
    const assay_op *op = op_called("rmsnorm");
    const planted size = {.op = op, .kind = PLANTED_SIZE, .key = 0, .at = 21};
    expect(&size, "rmsnorm n=4x5 d=8 dtype=f32", "rmsnorm n=3x7 d=8 dtype=f32");
    const planted axes = {.op = op, .kind = PLANTED_SIZE, .key = 0, .at = 3, .axes = true};
    expect(&axes, "rmsnorm n=4x5 d=8 dtype=f32", "rmsnorm n=1x2x3 d=8 dtype=f32");
    const planted below = {
        .op = op, .kind = PLANTED_ATTRIBUTE, .key = 3, .at = 1e-7, .below = true};
    expect(&below, "rmsnorm n=4 d=8 dtype=f32", "rmsnorm n=4 d=8 eps=1e-7 dtype=f32");
    const planted block = {.op = op, .kind = PLANTED_BLOCK, .block = 2};
    expect(&block, "rmsnorm n=16 d=32 dtype=f32", "rmsnorm n=17 d=32 dtype=f32");
    const planted equal = {
        .op = op, .kind = PLANTED_RELATION, .key = 0, .other = 1, .times = 1, .apart = -3};
    expect(&equal, "rmsnorm n=8 d=8 dtype=f32", "rmsnorm n=5 d=8 dtype=f32");
    const planted two = {.op = op, .kind = PLANTED_ROWS, .way = 0};
    expect(&two, "rmsnorm n=4 d=8 dtype=f32", "rmsnorm n=4 d=8 dtype=f32 fill=rows seed=2");
    const planted all = {.op = op, .kind = PLANTED_ROWS, .way = 2, .tensor = 1};
    expect(&all, "rmsnorm n=4 d=8 dtype=f32 seed=1",
           "rmsnorm n=4 d=8 dtype=f32 fill=constant seed=1");
    const planted zero = {.op = op, .kind = PLANTED_VALUE, .way = 0};
    expect(&zero, "rmsnorm n=9 d=8 dtype=f32", "rmsnorm n=9 d=8 dtype=f32 fill=zeros");
}

/* dx is tensor 4 of x, w, y, dy, dx, dw: inputs, outputs, cotangents, gradients; byte 12 is three
 * elements of fp32. */
ASSAY_TEST(planted, an_offset_is_of_one_tensor, "mutants sim") {
    const planted dx = {
        .op = op_called("rmsnorm"), .kind = PLANTED_OFFSET, .tensor = 4, .apart = 12};
    expect(&dx, "rmsnorm n=4 d=8 dtype=f32 misalign=2", "rmsnorm n=4 d=8 dtype=f32 misalign=3");
    expect(&dx, "rmsnorm n=4 d=8 dtype=f32 misalign=12", "rmsnorm n=4 d=8 dtype=f32 misalign=140");
}

/* None of a tensor that is not there, as the gradient of embedding's indices. */
ASSAY_TEST(planted, every_offset_can_be_reached, "mutants unit") {
    const assay_op *op = op_called("embedding");
    const planted_site site = {PLANTED_OFFSET, -1};
    assay_case c;
    assay_signature sig;
    REQUIRE_OK(assay_case_parse("embedding t=4 v=5 d=8 dtype=bf16", &c));
    REQUIRE_OK(assay_case_signature(&c, &sig));
    for (int64_t i = 0; i < 100; ++i) {
        planted p;
        bool holds = false;
        planted_draw(op, site, 1, i, &p);
        for (int64_t shift = 1; shift < 128; ++shift) {
            c.misalign = reach_shift_of_all(shift);
            holds = holds || planted_holds(&p, &c, &sig, NULL);
        }
        CHECK_MSG(holds, "%s", p.text);
    }
    assay_signature_clear(&sig);
}

/* A fault is a function of its site, the seed and its number; each site of each operator has
 * faults within the range of its key. */
ASSAY_TEST(planted, faults_are_drawn_within_what_is_legal, "mutants unit") {
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        planted_site site[PLANTED_SITES];
        const int32_t sites = planted_sites(op, site);
        CHECK(sites > op->n_keys);
        for (int32_t s = 0; s < sites; ++s)
            for (int64_t i = 0; i < 20; ++i) {
                planted p, again;
                planted_draw(op, site[s], 3, i, &p);
                planted_draw(op, site[s], 3, i, &again);
                CHECK_STREQ(p.text, again.text);
                if (site[s].key >= 0 && !p.axes && op->keys[site[s].key].kind != ASSAY_KEY_NAME)
                    CHECK_MSG(p.at >= op->keys[site[s].key].low &&
                                  p.at <= op->keys[site[s].key].high,
                              "%s: %s", op->name, p.text);
            }
    }
}
