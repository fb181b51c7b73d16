/* Profiles of a GPU, made of records that no GPU recorded: names, occupancy, sums, files. */
#include "bench/profile/around.h"
#include "bench/profile/kernel_name.h"
#include "bench/profile/occupancy.h"
#include "bench/profile/record_trace.h"
#include "bench/profile/table_text.h"
#include "tests/shim/assay_test.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

ASSAY_TEST(profile, names_are_those_of_the_source, "unit") {
    static const struct {
        const char *symbol, *name, *base;
    } cases[] = {
        {"_Z8sum_rowsIfEvPKT_l", "sum_rows<float>", "sum_rows"},
        {"_Z4copyPKiPi", "copy", "copy"},
        {"_ZN2at6native6kernelILi4EEEvi", "at::native::kernel<4>", "kernel"},
        {"_ZN12_GLOBAL__N_14stepIdEEvT_", "(anonymous namespace)::step<double>", "step"},
        {"_Z5applyI4packIN2at4HalfEEEvPT_", "apply<pack<at::Half> >", "apply"},
        {"ampere_sgemm_64x64_nn", "ampere_sgemm_64x64_nn", "ampere_sgemm_64x64_nn"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char name[PROFILE_NAME], base[PROFILE_NAME];
        kernel_name(cases[i].symbol, name);
        CHECK_STREQ(name, cases[i].name);
        kernel_base(name, base);
        CHECK_STREQ(base, cases[i].base);
    }
}

ASSAY_TEST(profile, names_that_are_too_long_say_so, "unit") {
    char symbol[2 * PROFILE_NAME], name[PROFILE_NAME];
    memset(symbol, 'k', sizeof symbol - 1);
    symbol[sizeof symbol - 1] = '\0';
    kernel_name(symbol, name);
    CHECK(strlen(name) == PROFILE_NAME - 1);
    CHECK_STREQ(name + PROFILE_NAME - 5, "k...");
}

/* ---- occupancy ---- */

static const profile_limits h200 = {
    .threads = 2048, .blocks = 32, .registers = 65536, .shared = 233472, .reserved_shared = 1024};

/* As the calculator of the CUDA toolkit, cuda_occupancy.h, has them for compute capability 9.0. */
ASSAY_TEST(profile, occupancy_is_the_calculators, "unit") {
    static const struct {
        uint32_t threads, registers, shared, blocks;
        const char *limit;
    } cases[] = {
        {256, 32, 0, 8, "threads"},
        {256, 33, 0, 6, "registers"},
        {256, 40, 0, 6, "registers"},
        {1024, 64, 0, 1, "registers"},
        {128, 255, 0, 2, "registers"},
        {256, 32, 49152, 4, "shared memory"},
        {256, 32, 232448, 1, "shared memory"},
        {256, 32, 233000, 0, "shared memory"},
        {32, 16, 0, 32, "blocks"},
        {40, 16, 0, 32, "threads"},
        {1024, 16, 0, 2, "threads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const profile_record kernel = {.block = {cases[i].threads, 1, 1},
                                       .registers = cases[i].registers,
                                       .dynamic_shared = cases[i].shared};
        const profile_occupancy o = occupancy_of(&kernel, &h200);
        const uint32_t warps = (cases[i].threads + 31) / 32;
        CHECK_MSG(o.blocks == cases[i].blocks && strcmp(o.limit, cases[i].limit) == 0,
                  "%u threads, %u registers, %u bytes: %u blocks for %s, not %u for %s",
                  cases[i].threads, cases[i].registers, cases[i].shared, o.blocks, o.limit,
                  cases[i].blocks, cases[i].limit);
        CHECK(o.share == (double)(cases[i].blocks * warps) / 64);
    }
}

/* ---- sums ---- */

/* Two kernels, one of them twice, a copy, their API calls; and a kernel of the other stage. */
static const profile_record recorded[] = {
    {.kind = PROFILE_CALL, .name = "forward 1", .start = 1000, .end = 9000},
    {.kind = PROFILE_API,
     .name = "cudaLaunchKernel",
     .start = 2000,
     .end = 3000,
     .correlation = 7,
     .row = 4242},
    {.kind = PROFILE_API,
     .name = "cuLaunchKernel",
     .start = 2100,
     .end = 2900,
     .correlation = 7,
     .row = 4242},
    {.kind = PROFILE_KERNEL,
     .name = "small<1, \"a\">",
     .start = 5000,
     .end = 6000,
     .correlation = 7,
     .row = 3,
     .grid = {4, 1, 1},
     .block = {256, 1, 1},
     .registers = 40},
    {.kind = PROFILE_KERNEL,
     .name = "large",
     .start = 6500,
     .end = 10500,
     .correlation = 9,
     .row = 3,
     .grid = {8, 2, 1},
     .block = {32, 8, 1},
     .registers = 32,
     .dynamic_shared = 49152},
    {.kind = PROFILE_COPY,
     .name = "copy, device to device",
     .start = 11000,
     .end = 12000,
     .correlation = 0,
     .row = 3,
     .bytes = 4096},
    {.kind = PROFILE_KERNEL,
     .name = "small<1, \"a\">",
     .start = 13000,
     .end = 15000,
     .correlation = 8,
     .row = 3,
     .grid = {4, 1, 1},
     .block = {256, 1, 1},
     .registers = 40},
    {.kind = PROFILE_KERNEL,
     .stage = ASSAY_BACKWARD,
     .name = "other",
     .start = 20000,
     .end = 90000,
     .row = 3,
     .grid = {1, 1, 1},
     .block = {32, 1, 1}},
};
enum { RECORDED = sizeof recorded / sizeof *recorded };

static profile_records records_of_test(void) {
    profile_records records = {0};
    for (int i = 0; i < RECORDED; ++i)
        REQUIRE_OK(records_add(&records, &recorded[i]));
    return records;
}

static profile_table table_of_test(assay_stage stage) {
    profile_records records = records_of_test();
    profile_table table;
    REQUIRE_OK(table_make(&records, stage, &table));
    records_clear(&records);
    return table;
}

ASSAY_TEST(profile, kernels_are_summed_and_sorted, "unit") {
    profile_table table = table_of_test(ASSAY_FORWARD);
    REQUIRE(table.count == 3);
    CHECK(table.total == 8 && table.span == 10);
    CHECK_STREQ(table.line[0].like.name, "large");
    CHECK(table.line[0].calls == 1 && table.line[0].total == 4 && table.line[0].share == 0.5);
    CHECK_STREQ(table.line[1].like.name, "small<1, \"a\">");
    CHECK(table.line[1].calls == 2 && table.line[1].total == 3);
    CHECK(table.line[2].bytes == 4096);
    table_clear(&table);
    table = table_of_test(ASSAY_BACKWARD);
    CHECK(table.count == 1 && table.total == 70);
    table_clear(&table);
}

ASSAY_TEST(profile, another_configuration_is_another_line, "unit") {
    profile_records records = records_of_test();
    profile_table table;
    records.record[6].grid[0] = 5;
    REQUIRE_OK(table_make(&records, ASSAY_FORWARD, &table));
    CHECK(table.count == 4);
    table_clear(&table);
    records_clear(&records);
}

/* ---- what is written ---- */

typedef struct page {
    char *data;
    size_t size;
    FILE *stream;
} page;

static FILE *page_open(page *t) {
    *t = (page){0};
    t->stream = open_memstream(&t->data, &t->size);
    REQUIRE(t->stream != NULL);
    return t->stream;
}

static const char *page_text(page *t) {
    REQUIRE(fclose(t->stream) == 0);
    return t->data;
}

static void check_says(const char *text, const char *part) {
    CHECK_MSG(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

static const assay_work work = {.read = 6000, .written = 2000, .flops = 4e6, .least = 4e6};

ASSAY_TEST(profile, table_for_people, "unit") {
    profile_table table = table_of_test(ASSAY_FORWARD);
    page t;
    CHECK(table_text(page_open(&t), &table, ASSAY_FORWARD, 2, &work, &h200) == ASSAY_OK);
    const char *got = page_text(&t);
    check_says(got, "1       4.0     4.00  50.0 %   8x2   32x8    32   49152       50 %  large\n");
    check_says(got,
               "2       3.0     1.50  37.5 %     4    256    40       0       75 %  small<1, ");
    check_says(got, "copy, device to device, 4.096 GB/s\n");
    /* 8 us in 2 calls: 8000 bytes in 4 us, 4e6 operations. */
    check_says(got, "a call: 4.00 us of the device, 2.0 GB/s and 1.000 TFLOP/s");
    check_says(got, "10.00 us, 80.0 % of it busy\n");
    free(t.data);
    table_clear(&table);
}

ASSAY_TEST(profile, nothing_recorded_is_said, "unit") {
    const profile_table none = {0};
    page t;
    CHECK(table_text(page_open(&t), &none, ASSAY_BACKWARD, 4, &work, &h200) == ASSAY_OK);
    CHECK_STREQ(page_text(&t), "\nbackward\n  nothing ran on the device\n");
    free(t.data);
}

static int fields(const char *line) {
    bool quoted = false;
    int n = 1;
    for (; *line != '\r'; ++line) {
        quoted = quoted != (*line == '"');
        n += !quoted && *line == ',';
    }
    return n;
}

ASSAY_TEST(profile, csv_has_a_field_for_each_name, "unit") {
    profile_table table = table_of_test(ASSAY_FORWARD);
    page t;
    FILE *to = page_open(&t);
    table_csv_head(to);
    table_csv(to, &table, ASSAY_FORWARD, &h200);
    const char *line = page_text(&t);
    const int n = fields(line);
    check_says(line, "\"small<1, \"\"a\"\">\"\r\n");
    check_says(line,
               "forward,1,4,4,0.5,0,8,2,1,32,8,1,32,0,49152,0,0.5,shared memory,\"large\"\r\n");
    for (int i = 0; i < 3; ++i) {
        line = strchr(line, '\n') + 1;
        CHECK_MSG(fields(line) == n, "%d fields, not %d: %s", fields(line), n, line);
    }
    free(t.data);
    table_clear(&table);
}

ASSAY_TEST(profile, functions_for_ncu_come_once, "unit") {
    profile_table table = table_of_test(ASSAY_FORWARD);
    char functions[64] = "";
    table_functions(&table, functions, sizeof functions);
    table_functions(&table, functions, sizeof functions);
    CHECK_STREQ(functions, "large|small");
    table_clear(&table);
}

/* ---- JSON ---- */

/* Behind one JSON value (RFC 8259), or NULL when there is none at `at`. */
static const char *json_value(const char *at);

static const char *json_blank(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static const char *json_text(const char *at) {
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; ++at) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        at += *at == '\\';
    }
    return at + 1;
}

static const char *json_list(const char *at, char end, bool named) {
    at = json_blank(at + 1);
    if (*at == end)
        return at + 1;
    for (;; ++at) {
        at = json_blank(at);
        if (named) {
            at = json_text(at);
            at = at != NULL ? json_blank(at) : NULL;
            if (at == NULL || *at++ != ':')
                return NULL;
        }
        at = json_value(at);
        at = at != NULL ? json_blank(at) : NULL;
        if (at == NULL || *at == end)
            return at != NULL ? at + 1 : NULL;
        if (*at != ',')
            return NULL;
    }
}

static const char *json_value(const char *at) {
    char *end;
    at = json_blank(at);
    if (*at == '{' || *at == '[')
        return json_list(at, *at == '{' ? '}' : ']', *at == '{');
    if (*at == '"')
        return json_text(at);
    if (strncmp(at, "null", 4) == 0)
        return at + 4;
    (void)strtod(at, &end);
    return end > at && (isdigit((unsigned char)*at) || *at == '-') ? end : NULL;
}

static void check_json(const char *text) {
    const char *end = json_value(text);
    CHECK_MSG(end != NULL && *json_blank(end) == '\0', "no JSON:\n%s", text);
}

ASSAY_TEST(profile, json_is_json, "unit") {
    profile_table table = table_of_test(ASSAY_FORWARD);
    page t;
    table_json(page_open(&t), &table, ASSAY_FORWARD, 2, &work, &h200);
    check_json(page_text(&t));
    check_says(t.data, "\"name\": \"small<1, \\\"a\\\">\", \"calls\": 2, \"total_us\": 3,");
    free(t.data);
    table_clear(&table);
}

static int count_of(const char *text, const char *part) {
    int n = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        ++n;
    return n;
}

ASSAY_TEST(profile, trace_has_rows_events_and_arrows, "unit") {
    profile_records records = records_of_test();
    page t;
    REQUIRE_OK(records_trace(page_open(&t), "a \"title\"\t\xc3\xa9", &records));
    check_json(page_text(&t));
    CHECK(count_of(t.data, "\"ph\": \"X\"") == RECORDED);
    check_says(t.data, "{\"ph\": \"X\", \"pid\": 1, \"tid\": 3, \"name\": \"large\", \"ts\": 5.5, "
                       "\"dur\": 4, ");
    check_says(t.data, "\"name\": \"thread_name\", \"args\": {\"name\": \"thread 4242\"}");
    CHECK(count_of(t.data, "\"name\": \"stream 3\"") == 1);
    /* One kernel has an API call; that of the runtime, which came first. */
    CHECK(count_of(t.data, "\"ph\": \"s\"") == 1 && count_of(t.data, "\"ph\": \"f\"") == 1);
    check_says(t.data, "{\"ph\": \"s\", \"pid\": 0, \"tid\": 4242, \"name\": \"launch\", \"cat\": "
                       "\"launch\", \"id\": 7, \"ts\": 1}");
    check_says(t.data, "{\"ph\": \"f\", \"pid\": 1, \"tid\": 3, \"name\": \"launch\", \"cat\": "
                       "\"launch\", \"bp\": \"e\", \"id\": 7, \"ts\": 4}");
    free(t.data);
    records_clear(&records);
}

ASSAY_TEST(profile, trace_of_nothing_is_a_trace, "unit") {
    const profile_records none = {0};
    page t;
    REQUIRE_OK(records_trace(page_open(&t), "nothing", &none));
    check_json(page_text(&t));
    free(t.data);
}

/* ---- around a variant ---- */

static int forwards, backwards;

static assay_status forward(const assay_call *call) {
    (void)call;
    ++forwards;
    return ASSAY_OK;
}

static assay_status backward(const assay_call *call) {
    (void)call;
    ++backwards;
    return ASSAY_ERR_KERNEL;
}

static assay_status twice(assay_stage which, profile_stage stage, const assay_call *call,
                          void *context) {
    *(assay_stage *)context = which;
    const assay_status status = stage(call);
    return status == ASSAY_OK ? stage(call) : status;
}

ASSAY_TEST(profile, calls_go_through_what_is_around_them, "unit") {
    const assay_variant variant = {
        .op = "op", .name = "v1", .forward = forward, .backward = backward};
    const assay_variant one_way = {.op = "op", .name = "v1", .forward = forward};
    const assay_call call = {0};
    assay_stage seen = ASSAY_BACKWARD;
    assay_variant outer = profile_wrap(&variant, twice, &seen);
    forwards = backwards = 0;
    CHECK(outer.forward(&call) == ASSAY_OK && forwards == 2 && seen == ASSAY_FORWARD);
    CHECK(outer.backward(&call) == ASSAY_ERR_KERNEL && backwards == 1 && seen == ASSAY_BACKWARD);
    CHECK_STREQ(outer.name, "v1");
    outer = profile_wrap(&one_way, twice, &seen);
    CHECK(outer.backward == NULL);
}
