/* A program's allocations are known to the byte, and freed memory is told from its own. */
#include "sim/exec/memory.h"

#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

static char *make(size_t bytes) {
    void *memory;
    REQUIRE_OK(exec_memory_allocate(bytes, EXEC_DEVICE, "cudaMalloc", &memory));
    REQUIRE(memory != NULL);
    return memory;
}

ASSAY_TEST(exec_memory, starts_as_nan_and_is_aligned, "unit") {
    char *a = make(100);
    float value;
    memcpy(&value, a + 96, sizeof value);
    CHECK(isnan(value));
    CHECK((uintptr_t)a % 256 == 0);
    REQUIRE_OK(exec_memory_free(a));
}

ASSAY_TEST(exec_memory, finds_the_allocation_of_an_address, "unit") {
    char *a = make(100), *b = make(1);
    const exec_allocation *found = exec_memory_find(a + 99);
    REQUIRE(found != NULL);
    CHECK(found->low == a && found->bytes == 100 && found->kind == EXEC_DEVICE);
    CHECK(exec_memory_find(a + 100) == NULL);
    found = exec_memory_find(b);
    CHECK(found != NULL && found->low == b);
    CHECK(exec_memory_find(&found) == NULL);
    REQUIRE_OK(exec_memory_free(a));
    CHECK(exec_memory_find(a) == NULL);
    REQUIRE_OK(exec_memory_free(b));
}

ASSAY_TEST(exec_memory, checks_copies_to_the_byte, "unit") {
    char why[EXEC_MEMORY_LINE] = "", own[64];
    char *a = make(32);
    CHECK(exec_memory_check(a, 32, true, why) && exec_memory_check(a + 31, 1, false, why));
    CHECK(exec_memory_check(a + 32, 0, true, why));
    CHECK(exec_memory_check(own, sizeof own, true, why));
    CHECK(!exec_memory_check(a, 33, false, why));
    CHECK_MSG(strstr(why, "reads 33 bytes, 1 of them behind allocation") != NULL, "%s", why);
    CHECK(!exec_memory_check(a - 4, 8, true, why));
    CHECK_MSG(strstr(why, "writes 8 bytes from 4 bytes before allocation") != NULL, "%s", why);
    REQUIRE_OK(exec_memory_free(a));
    CHECK(!exec_memory_check(a + 8, 4, false, why));
    CHECK_MSG(strstr(why, "which has been freed") != NULL, "%s", why);
}

ASSAY_TEST(exec_memory, tells_wrong_frees, "unit") {
    char own;
    char *a = make(32);
    CHECK_FAILS(exec_memory_free(a + 4), ASSAY_ERR_USAGE, "is 4 bytes into allocation");
    CHECK_FAILS(exec_memory_free(&own), ASSAY_ERR_USAGE, "was not allocated with CUDA");
    REQUIRE_OK(exec_memory_free(a));
    CHECK_FAILS(exec_memory_free(a), ASSAY_ERR_USAGE, "has been freed before");
}

ASSAY_TEST(exec_memory, lists_what_is_left, "unit") {
    CHECK(exec_memory_live(0) == NULL);
    char *a = make(8), *b = make(0);
    CHECK(exec_memory_live(1) != NULL && exec_memory_live(2) == NULL);
    REQUIRE_OK(exec_memory_free(a));
    CHECK(exec_memory_live(0) != NULL && exec_memory_live(0)->low == b);
    REQUIRE_OK(exec_memory_free(b));
    CHECK(exec_memory_live(0) == NULL);
}

/* More than are kept, by count and by bytes: the oldest go, the newest are still known. */
ASSAY_TEST(exec_memory, keeps_freed_memory_for_a_while, "unit") {
    char *last = NULL, why[EXEC_MEMORY_LINE];
    for (int i = 0; i < 3000; ++i) {
        char *a = make(16);
        CHECK(a != last);
        REQUIRE_OK(exec_memory_free(a));
        last = a;
    }
    CHECK(!exec_memory_check(last, 1, false, why));
    char *large = make((size_t)300 << 20);
    REQUIRE_OK(exec_memory_free(large));
    CHECK(exec_memory_check(last, 1, false, why));
}

ASSAY_TEST(exec_memory, refuses_more_than_the_device_has, "unit") {
    void *memory;
    char *a = make(8);
    CHECK_FAILS(exec_memory_allocate(EXEC_DEVICE_BYTES - 7, EXEC_DEVICE, "cudaMalloc", &memory),
                ASSAY_ERR_MEMORY, "has 16 GiB, of which 8 bytes are in use");
    CHECK(memory == NULL);
    CHECK_FAILS(exec_memory_allocate(SIZE_MAX, EXEC_DEVICE, "cudaMalloc", &memory),
                ASSAY_ERR_MEMORY, "has 16 GiB");
    REQUIRE_OK(exec_memory_free(a));
}

ASSAY_TEST(exec_memory, notices_what_is_written_behind_an_allocation, "unit") {
    char what[EXEC_MEMORY_LINE];
    char *a = make(100), *b = make(256);
    CHECK(!exec_memory_overrun(what));
    a[103] = 0;
    REQUIRE(exec_memory_overrun(what));
    CHECK_MSG(strstr(what, "3 bytes behind the end of allocation") != NULL, "%s", what);
    CHECK(!exec_memory_overrun(what)); /* once */
    REQUIRE_OK(exec_memory_free(a));
    REQUIRE_OK(exec_memory_free(b));
}

ASSAY_TEST(exec_memory, names_the_allocation_near_an_address, "unit") {
    char where[EXEC_MEMORY_LINE];
    char *a = make(256);
    REQUIRE(exec_memory_describe(a + 256 + 8, where));
    CHECK_MSG(strstr(where, "8 bytes behind the end of allocation") != NULL, "%s", where);
    REQUIRE(exec_memory_describe(a - 4, where));
    CHECK_MSG(strstr(where, "4 bytes before allocation") != NULL, "%s", where);
    CHECK(!exec_memory_describe(&a, where));
    REQUIRE_OK(exec_memory_free(a));
    REQUIRE(exec_memory_describe(a + 1, where));
    CHECK_MSG(strstr(where, "in allocation") != NULL, "%s", where);
    CHECK_MSG(strstr(where, "which has been freed") != NULL, "%s", where);
}
