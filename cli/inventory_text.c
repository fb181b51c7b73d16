#include "cli/inventory.h"
#include "cli/variants.h"

#include <inttypes.h>
#include <string.h>

/* "integer 0..9", "tiny|small|large" */
static int put_legal(FILE *to, const assay_op *op, const assay_key *key) {
    static const char *const kinds[] = {
        [ASSAY_KEY_INT] = "integer", [ASSAY_KEY_LIST] = "list", [ASSAY_KEY_REAL] = "real"};
    int used = 0;
    if (key->kind == ASSAY_KEY_NAME) {
        for (int i = 0; op->names[i] != NULL; ++i)
            used += fprintf(to, "%s%s", i > 0 ? "|" : "", op->names[i]);
        return used;
    }
    return fprintf(to, "%s %.15g..%.15g", kinds[key->kind], key->low, key->high);
}

void inventory_key(FILE *to, const assay_op *op, const assay_key *key) {
    int used = fprintf(to, "    %-7s ", key->name);
    used += put_legal(to, op, key);
    if (key->fallback != NULL && key->fallback[0] != '\0')
        used += fprintf(to, ", default %s", key->fallback);
    fprintf(to, "%*s%s\n", used < 44 ? 44 - used : 2, "", key->doc);
}

static void put_variants(FILE *to, const inventory *inv, const assay_op *op) {
    const char *name;
    int width = 0;
    for (int32_t v = 0; (name = variant_name(op, v)) != NULL; ++v)
        width = (int)strlen(name) > width ? (int)strlen(name) : width;
    for (int32_t v = 0; (name = variant_name(op, v)) != NULL; ++v)
        for (int d = 0; d < INVENTORY_DEVICES; ++d) {
            const assay_variant *variant = inventory_variant(&inv->device[d], op, name);
            if (variant != NULL)
                fprintf(to, "    %-*s  %-5s %s\n", width, name, inv->device[d].name,
                        variant->summary);
        }
}

static void put_op(FILE *to, const inventory *inv, const inventory_op *entry) {
    const assay_op *op = entry->op;
    fprintf(to, "%s\n  forward   %s\n  backward  %s\n  keys\n", op->name, op->forward_formula,
            op->backward_formula);
    for (int32_t k = 0; k < op->n_keys; ++k)
        inventory_key(to, op, &op->keys[k]);
    fputs("  dtypes   ", to);
    for (int i = 0; i < ASSAY_DTYPES; ++i)
        if ((op->dtypes >> i & 1u) != 0)
            fprintf(to, " %s", assay_dtype_name((assay_dtype)i));
    fputs("\n  math     ", to);
    for (int i = 0; i <= ASSAY_TF32; ++i)
        if ((op->maths >> i & 1u) != 0)
            fprintf(to, " %s", assay_math_name((assay_math)i));
    fputs("\n  variants\n", to);
    put_variants(to, inv, op);
    fputs("  cases    ", to);
    for (int s = 0; s < ASSAY_SETS; ++s)
        fprintf(to, " %s %" PRId64 "%s", assay_set_name((assay_set)s), entry->cases[s],
                s + 1 < ASSAY_SETS ? "," : "\n\n");
}

void inventory_text(FILE *to, const inventory *inv) {
    for (int32_t i = 0; i < inv->n_ops; ++i)
        put_op(to, inv, &inv->op[i]);
    if (!inv->all)
        return;
    fputs("devices\n", to);
    for (int d = 0; d < INVENTORY_DEVICES; ++d)
        fprintf(to, "  %-5s %s%s\n", inv->device[d].name,
                inv->device[d].device != NULL ? "" : "not available: ", inv->device[d].text);
}
