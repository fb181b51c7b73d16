/* assay help: describes a verb, an operator or a key of a case's text. */
#include "cli/inventory.h"
#include "cli/nearest.h"
#include "cli/verbs.h"
#include "core/case_parse.h"

#include <string.h>

const char cli_exits[] =
    "0 all passed, 1 something failed or was mistrusted, 2 usage, 3 error in harness,\n"
    "file or device, 4 refused because unverified, 77 nothing could run here, 130 interrupted.\n";

enum { TEXT_COLUMN = 30 };

static void print_flags(FILE *to, unsigned verb) {
    fputs("\nFlags:\n", to);
    for (const cli_flag_entry *f = cli_flags; f->name != NULL; ++f) {
        if ((f->verbs & verb) == 0)
            continue;
        const int used = fprintf(to, "  %s%s%s", f->name, f->value != NULL ? " " : "",
                                 f->value != NULL ? f->value : "");
        const bool fits = used + 2 <= TEXT_COLUMN; /* otherwise the text has a line of its own */
        fprintf(to, "%s%*s%s\n", fits ? "" : "\n", TEXT_COLUMN - (fits ? used : 0), "", f->doc);
    }
}

void cli_help(FILE *to, const cli_verb *verb) {
    if (verb != NULL) {
        const bool last = verb->bit != CLI_EXEC; /* whose program's words are its own */
        fprintf(to, "usage: assay %s %s%s%s\n\n%s: %s.\n", verb->name, last ? "" : "[--flags] ",
                verb->synopsis, last ? " [--flags]" : "", verb->name, verb->summary);
        if (verb->details != NULL)
            fputs(verb->details, to);
        print_flags(to, verb->bit);
    } else {
        fputs("usage: assay VERB [OP[/VARIANT]...] [key=value...] [--flags]\n\n"
              "Checks that CUDA kernels compute what they should, forward and gradients.\n\n"
              "Verbs:\n",
              to);
        for (int i = 0; i < CLI_VERBS; ++i)
            fprintf(to, "  %-12s%s\n", cli_verbs[i].name, cli_verbs[i].summary);
        fputs(
            "\nassay help VERB explains a verb, assay help OP an operator, assay help KEY a key.\n",
            to);
    }
    if (verb == NULL || strstr(verb->synopsis, "key=value") != NULL)
        fputs("\nValues take lists and ranges: d=16,32,64  k=1:129:16\n"
              "Example: assay check kronecker b=16 f=32x32 layers=2 dtype=f64\n",
              to);
    fprintf(to, "\nExit: %s", verb != NULL && verb->exits != NULL ? verb->exits : cli_exits);
}

/* ---- operators and keys ---- */

static assay_exit help_op(const assay_cli_args *args, const assay_op *op) {
    assay_cli_target target = {.op = op};
    assay_cli_args mine = *args;
    inventory inv;
    mine.target = &target;
    mine.n_targets = 1;
    const assay_status status = inventory_init(&inv, &mine);
    if (status == ASSAY_OK)
        inventory_text(args->out.stream, &inv);
    inventory_clear(&inv);
    return status == ASSAY_OK ? ASSAY_EXIT_PASSED : assay_cli_complain(status);
}

/* The operators that have a key of that name, each with its own meaning. */
static bool help_own_key(FILE *to, const char *name) {
    bool found = false;
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        for (int32_t k = 0; k < op->n_keys; ++k) {
            if (strcmp(op->keys[k].name, name) != 0)
                continue;
            if (!found)
                fprintf(to, "%s=VALUE is a key of these operators:\n\n", name);
            fprintf(to, "%s\n", op->name);
            inventory_key(to, op, &op->keys[k]);
            found = true;
        }
    }
    return found;
}

static assay_status unknown_topic(const char *word) {
    const char *nearest = NULL;
    char quoted[ASSAY_QUOTE];
    for (int i = 0; i < CLI_VERBS; ++i)
        nearest_offer(word, cli_verbs[i].name, &nearest);
    for (int32_t o = 0; o < assay_op_count(); ++o)
        nearest_offer(word, assay_op_at(o)->name, &nearest);
    for (const cli_key *key = cli_keys; key->name != NULL; ++key)
        nearest_offer(word, key->name, &nearest);
    const bool near = nearest_is_near(word, nearest);
    return assay_fail(ASSAY_ERR_USAGE,
                      "no help on %s: it is not a verb, an operator or a key; %s%s",
                      assay_quote(word, strlen(word), quoted), near ? "the nearest is " : "",
                      near ? nearest : "assay --help lists the verbs, assay list the operators");
}

assay_exit assay_cli_help(const assay_cli_args *args) {
    FILE *to = args->out.stream;
    const char *word = args->subverb;
    const cli_verb *verb = word != NULL ? cli_verb_find(word) : NULL;
    const assay_op *op = word != NULL ? assay_op_find(word, strlen(word)) : NULL;
    if (args->man && (word == NULL || verb != NULL))
        cli_man(to, verb);
    else if (args->man)
        return assay_cli_complain(
            assay_fail(ASSAY_ERR_USAGE, "only assay itself and its verbs have manual pages"));
    else if (word == NULL || verb != NULL)
        cli_help(to, verb);
    else if (op != NULL)
        return help_op(args, op);
    else if (!cli_key_help(to, word) && !help_own_key(to, word))
        return assay_cli_complain(unknown_topic(word));
    return ASSAY_EXIT_PASSED;
}
