#include "cli/inventory.h"
#include "cli/variants.h"
#include "core/json.h"

#include <inttypes.h>

static void put_devices(FILE *to, const inventory *inv) {
    for (int d = 0; d < INVENTORY_DEVICES; ++d) {
        fputs(d > 0 ? ", {\"name\": " : "{\"name\": ", to);
        json_string(to, inv->device[d].name);
        fprintf(to, ", \"available\": %s, \"text\": ",
                inv->device[d].device != NULL ? "true" : "false");
        json_string(to, inv->device[d].text);
        putc('}', to);
    }
}

static void put_legal(FILE *to, const char *const *names) {
    fputs(", \"names\": [", to);
    for (int i = 0; names[i] != NULL; ++i) {
        fputs(i > 0 ? ", " : "", to);
        json_string(to, names[i]);
    }
    putc(']', to);
}

static void put_keys(FILE *to, const assay_op *op) {
    static const char *const kinds[] = {[ASSAY_KEY_INT] = "integer",
                                        [ASSAY_KEY_LIST] = "list",
                                        [ASSAY_KEY_REAL] = "real",
                                        [ASSAY_KEY_NAME] = "name"};
    for (int32_t k = 0; k < op->n_keys; ++k) {
        const assay_key *key = &op->keys[k];
        fputs(k > 0 ? ", {\"name\": " : "{\"name\": ", to);
        json_string(to, key->name);
        fprintf(to, ", \"kind\": \"%s\"", kinds[key->kind]);
        if (key->kind == ASSAY_KEY_NAME)
            put_legal(to, op->names);
        else
            fprintf(to, ", \"low\": %.15g, \"high\": %.15g", key->low, key->high);
        fputs(", \"default\": ", to);
        json_string(to, key->fallback);
        fputs(", \"doc\": ", to);
        json_string(to, key->doc);
        putc('}', to);
    }
}

static void put_names(FILE *to, unsigned mask, int count, const char *(*name_of)(int)) {
    const char *separator = "";
    for (int i = 0; i < count; ++i) {
        if ((mask >> i & 1u) == 0)
            continue;
        fputs(separator, to);
        json_string(to, name_of(i));
        separator = ", ";
    }
}

static const char *dtype_name(int i) {
    return assay_dtype_name((assay_dtype)i);
}

static const char *math_name(int i) {
    return assay_math_name((assay_math)i);
}

static void put_variants(FILE *to, const inventory *inv, const assay_op *op) {
    const char *name, *separator = "";
    for (int32_t v = 0; (name = variant_name(op, v)) != NULL; ++v)
        for (int d = 0; d < INVENTORY_DEVICES; ++d) {
            const assay_variant *variant = inventory_variant(&inv->device[d], op, name);
            if (variant == NULL)
                continue;
            fprintf(to, "%s{\"name\": ", separator);
            json_string(to, name);
            fputs(", \"device\": ", to);
            json_string(to, inv->device[d].name);
            fputs(", \"summary\": ", to);
            json_string(to, variant->summary);
            putc('}', to);
            separator = ", ";
        }
}

static void put_op(FILE *to, const inventory *inv, const inventory_op *entry) {
    const assay_op *op = entry->op;
    fputs("{\"name\": ", to);
    json_string(to, op->name);
    fputs(", \"forward\": ", to);
    json_string(to, op->forward_formula);
    fputs(", \"backward\": ", to);
    json_string(to, op->backward_formula);
    fputs(", \"keys\": [", to);
    put_keys(to, op);
    fputs("], \"dtypes\": [", to);
    put_names(to, op->dtypes, ASSAY_DTYPES, dtype_name);
    fputs("], \"math\": [", to);
    put_names(to, op->maths, ASSAY_TF32 + 1, math_name);
    fputs("], \"variants\": [", to);
    put_variants(to, inv, op);
    fputs("], \"sets\": {", to);
    for (int s = 0; s < ASSAY_SETS; ++s)
        fprintf(to, "%s\"%s\": %" PRId64, s > 0 ? ", " : "", assay_set_name((assay_set)s),
                entry->cases[s]);
    fputs("}}", to);
}

void inventory_json(FILE *to, const inventory *inv) {
    fputs("{\"assay\": ", to);
    json_string(to, ASSAY_VERSION);
    fputs(",\n\"devices\": [", to);
    put_devices(to, inv);
    fputs("],\n\"operators\": [", to);
    for (int32_t i = 0; i < inv->n_ops; ++i) {
        fputs(i > 0 ? ",\n" : "\n", to);
        put_op(to, inv, &inv->op[i]);
    }
    fputs("\n]}\n", to);
}

void inventory_cases_json(FILE *to, const cli_cases *cases) {
    fputs("{\"assay\": ", to);
    json_string(to, ASSAY_VERSION);
    fputs(",\n\"cases\": [", to);
    for (int64_t i = 0; i < cases->n_jobs; ++i) {
        fputs(i > 0 ? ",\n" : "\n", to);
        json_string(to, cases->job[i].text);
    }
    fputs("\n]}\n", to);
}
