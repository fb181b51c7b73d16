/*
 * The reader of bindings, `assay check --binding`: of any text, as a binding and as a source, it
 * gives a line that says what is wrong, or a binding that is written and read back as itself.
 */
#include "engine/binding.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void expect_round_trip(const binding *b) {
    static binding again;
    char *first, *second;
    FUZZ_EXPECT(binding_format(b, &first) == ASSAY_OK);
    FUZZ_EXPECT(binding_parse("again", first, &again) == ASSAY_OK);
    FUZZ_EXPECT(binding_format(&again, &second) == ASSAY_OK);
    FUZZ_EXPECT(strcmp(first, second) == 0);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static binding b;
    char *text = malloc(size + 1);
    FUZZ_EXPECT(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (binding_parse("fuzz", text, &b) == ASSAY_OK)
        expect_round_trip(&b);
    else
        fuzz_expect_line();
    if (binding_of_source("fuzz", text, "rope", &b) == ASSAY_OK)
        expect_round_trip(&b);
    else
        fuzz_expect_line();
    free(text);
    return 0;
}
