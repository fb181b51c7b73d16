/* Physical memory is mapped into ranges of addresses, and wrong uses are refused as CUDA does. */
#include "sim/exec/virtual.h"

#include "sim/exec/report.h"

#include "tests/shim/assay_test.h"

#include <string.h>

static char *reserve(size_t bytes) {
    void *memory;
    REQUIRE(exec_reserve(&memory, bytes, 0, NULL) == EXEC_SUCCESS);
    return memory;
}

static exec_physical *create(size_t bytes) {
    exec_physical *p;
    REQUIRE(exec_physical_create(&p, bytes) == EXEC_SUCCESS);
    return p;
}

ASSAY_TEST(exec_virtual, a_mapping_needs_access_before_it_is_memory, "unit") {
    char why[EXEC_MEMORY_LINE] = "";
    char *range = reserve(3 * EXEC_GRANULE);
    exec_physical *p = create(2 * EXEC_GRANULE);
    CHECK((uintptr_t)range % EXEC_GRANULE == 0);
    CHECK(exec_memory_find(range) == NULL);
    CHECK(!exec_memory_check(range, 8, false, why));
    CHECK_MSG(strstr(why, "where nothing is mapped at byte 0") != NULL, "%s", why);
    REQUIRE(exec_map(range, 2 * EXEC_GRANULE, 0, p) == EXEC_SUCCESS);
    CHECK(!exec_memory_check(range, 8, false, why));
    CHECK_MSG(strstr(why, "where the device has no access at byte 0") != NULL, "%s", why);
    REQUIRE(exec_set_access(range, 2 * EXEC_GRANULE, EXEC_READ) == EXEC_SUCCESS);
    CHECK(exec_memory_check(range, 8, false, why) && !exec_memory_check(range, 8, true, why));
    CHECK_MSG(strstr(why, "where the device may only read at byte 0") != NULL, "%s", why);
    REQUIRE(exec_set_access(range, 2 * EXEC_GRANULE, EXEC_READ_WRITE) == EXEC_SUCCESS);
    CHECK(exec_memory_check(range + EXEC_GRANULE - 4, 8, true, why));
    CHECK((unsigned char)range[5] == 0xff); /* as fresh memory is */
    CHECK(!exec_memory_check(range + 2 * EXEC_GRANULE - 4, 8, true, why));
    CHECK_MSG(strstr(why, "where nothing is mapped at byte 4194304") != NULL, "%s", why);
    REQUIRE(exec_memory_describe(range + 2 * EXEC_GRANULE, why));
    CHECK_MSG(strstr(why, ", where nothing is mapped") != NULL, "%s", why);
    REQUIRE(exec_unmap(range, 2 * EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(!exec_memory_check(range, 8, false, why));
    REQUIRE(exec_physical_release(p) == EXEC_SUCCESS);
    REQUIRE(exec_unreserve(range, 3 * EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(!exec_memory_check(range, 8, false, why));
    CHECK_MSG(strstr(why, "which has been freed") != NULL, "%s", why);
}

ASSAY_TEST(exec_virtual, memory_is_one_at_all_of_its_addresses_and_lives_while_mapped, "unit") {
    char *range = reserve(2 * EXEC_GRANULE);
    exec_physical *p = create(EXEC_GRANULE), *again;
    void *low;
    size_t bytes;
    for (size_t i = 0; i < 2; ++i)
        REQUIRE(exec_map(range + i * EXEC_GRANULE, EXEC_GRANULE, 0, p) == EXEC_SUCCESS);
    REQUIRE(exec_set_access(range, 2 * EXEC_GRANULE, EXEC_READ_WRITE) == EXEC_SUCCESS);
    REQUIRE(exec_physical_release(p) == EXEC_SUCCESS);
    CHECK(exec_physical_release(p) == EXEC_INVALID_VALUE);
    ((volatile char *)range)[7] = 42; /* the compiler does not know that it is the same byte */
    CHECK(((volatile char *)range)[EXEC_GRANULE + 7] == 42);
    REQUIRE(exec_mapping_of(range + EXEC_GRANULE + 9, &low, &bytes) == EXEC_SUCCESS);
    CHECK(low == range + EXEC_GRANULE && bytes == EXEC_GRANULE);
    REQUIRE(exec_unmap(range, EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(((volatile char *)range)[EXEC_GRANULE + 7] == 42);
    REQUIRE(exec_physical_retain(&again, range + EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(again == p);
    REQUIRE(exec_unmap(range + EXEC_GRANULE, EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(exec_physical_retain(&again, range) == EXEC_INVALID_VALUE);
    REQUIRE(exec_physical_release(p) == EXEC_SUCCESS);
    REQUIRE(exec_unreserve(range, 2 * EXEC_GRANULE) == EXEC_SUCCESS);
}

ASSAY_TEST(exec_virtual, refuses_wrong_uses, "unit") {
    void *none;
    exec_physical *p;
    CHECK(exec_reserve(&none, EXEC_GRANULE / 2, 0, NULL) == EXEC_INVALID_VALUE);
    CHECK(exec_reserve(&none, EXEC_GRANULE, 3 * EXEC_GRANULE, NULL) == EXEC_INVALID_VALUE);
    CHECK(exec_physical_create(&p, EXEC_GRANULE + 4096) == EXEC_INVALID_VALUE);
    CHECK(exec_physical_create(&p, EXEC_DEVICE_BYTES + EXEC_GRANULE) == EXEC_OUT_OF_MEMORY);
    char *range = reserve(2 * EXEC_GRANULE);
    p = create(2 * EXEC_GRANULE);
    CHECK(exec_map(range, EXEC_GRANULE, 0, p) == EXEC_NOT_SUPPORTED); /* a part */
    CHECK(exec_map(range, 2 * EXEC_GRANULE, EXEC_GRANULE, p) == EXEC_NOT_SUPPORTED);
    CHECK(exec_map(range + EXEC_GRANULE, 2 * EXEC_GRANULE, 0, p) == EXEC_INVALID_VALUE);
    REQUIRE(exec_map(range, 2 * EXEC_GRANULE, 0, p) == EXEC_SUCCESS);
    CHECK(exec_map(range, 2 * EXEC_GRANULE, 0, p) == EXEC_INVALID_VALUE); /* there already */
    CHECK(exec_unmap(range, EXEC_GRANULE) == EXEC_INVALID_VALUE);         /* half of a mapping */
    CHECK(exec_set_access(range, EXEC_GRANULE, EXEC_READ) == EXEC_INVALID_VALUE);
    CHECK(exec_unreserve(range, 2 * EXEC_GRANULE) == EXEC_INVALID_VALUE); /* still mapped */
    CHECK_FAILS(exec_memory_free(range), ASSAY_ERR_USAGE, "which cuMemAddressFree frees");
    REQUIRE(exec_unmap(range, 2 * EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(exec_unmap(range, 2 * EXEC_GRANULE) == EXEC_SUCCESS); /* as CUDA has it */
    CHECK(exec_unreserve(range, EXEC_GRANULE) == EXEC_INVALID_VALUE);
    REQUIRE(exec_unreserve(range, 2 * EXEC_GRANULE) == EXEC_SUCCESS);
    CHECK(exec_unreserve(range, 2 * EXEC_GRANULE) == EXEC_INVALID_VALUE);
    exec_physical_tell_leaks();
    const exec_report *r = exec_report_get();
    REQUIRE(r->n_problems > 0);
    CHECK(r->problem[r->n_problems - 1].kind == EXEC_PROBLEM_LEAK);
    REQUIRE(exec_physical_release(p) == EXEC_SUCCESS);
}
