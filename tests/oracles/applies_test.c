/* The cases of which a relation says something. */
#include "assay/op.h"
#include "assay/relation.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static const struct {
    const char *text, *relation;
    bool applies;
} table[] = {
    {"reduce n=3x5 axes=0 kind=sum", "adjoint", true},
    {"reduce n=3x5 axes=0 kind=max", "adjoint", false},
    {"reduce n=0x5 axes=0 kind=sum", "adjoint", false},
    {"reduce n=3x5 axes=0 kind=max", "row_permutation", true},
    {"reduce n=3x5 axes=0 kind=max first=1", "row_permutation", false},
    {"reduce n=1x5 axes=0 kind=max", "row_permutation", false},
    {"scan n=3x5 axis=1", "row_permutation", true},
    {"scan n=3x5 axis=0", "row_permutation", false},
    {"scan n=1x5 axis=1", "row_permutation", false},
    {"swiglu n=3 d=5", "power_of_two_scaling", true},
    {"swiglu n=3 d=5 fill=huge", "power_of_two_scaling", false},
    {"swiglu n=3 d=5 fill=wide", "power_of_two_scaling", false},
    {"swiglu n=3 d=5 fill=denormal", "power_of_two_scaling", false},
};

ASSAY_TEST(applies, each_condition_counts, "unit") {
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
        assay_case c;
        bool found = false;
        REQUIRE_OK(assay_case_parse(table[i].text, &c));
        for (int32_t r = 0; r < c.op->n_relations; ++r) {
            const assay_relation *relation = &c.op->relations[r];
            if (strcmp(relation->name, table[i].relation) != 0)
                continue;
            found = true;
            CHECK_MSG((!relation->applies || relation->applies(&c)) == table[i].applies, "%s: %s",
                      table[i].text, table[i].relation);
        }
        CHECK_MSG(found, "%s: no relation %s", table[i].text, table[i].relation);
    }
}
