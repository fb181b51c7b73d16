/* Manual pages, in the man macros of troff. */
#include "cli/verbs.h"

#include <ctype.h>

/* A leading dot or apostrophe would be a request, a backslash an escape; a hyphen is meant to be
 * copied. */
static void put_text(FILE *to, const char *text, bool *at_start) {
    for (; *text != '\0'; ++text) {
        if (*at_start && (*text == '.' || *text == '\''))
            fputs("\\&", to);
        if (*text == '-' || *text == '\\')
            fputs(*text == '-' ? "\\-" : "\\e", to);
        else
            putc(*text, to);
        *at_start = *text == '\n';
    }
}

static void put(FILE *to, const char *text) {
    bool at_start = true;
    put_text(to, text, &at_start);
}

static void put_section(FILE *to, const char *title) {
    fprintf(to, ".SH %s\n", title);
}

static void put_flags(FILE *to, unsigned verb) {
    put_section(to, "OPTIONS");
    for (const cli_flag_entry *f = cli_flags; f->name != NULL; ++f) {
        bool at_start = false;
        if ((f->verbs & verb) == 0)
            continue;
        fputs(".TP\n\\fB", to);
        put_text(to, f->name, &at_start);
        fputs("\\fR", to);
        if (f->value != NULL) {
            fputs(" \\fI", to);
            put_text(to, f->value, &at_start);
            fputs("\\fR", to);
        }
        putc('\n', to);
        put(to, f->doc);
        putc('\n', to);
    }
}

static void put_verb(FILE *to, const cli_verb *verb) {
    fputs(".TH ASSAY\\-", to);
    for (const char *c = verb->name; *c != '\0'; ++c)
        putc(toupper((unsigned char)*c), to);
    fprintf(to, " 1 \"\" \"assay %s\" \"User Commands\"\n", ASSAY_VERSION);
    put_section(to, "NAME");
    fprintf(to, "assay\\-%s \\- ", verb->name);
    put(to, verb->summary);
    putc('\n', to);
    put_section(to, "SYNOPSIS");
    fprintf(to, ".B assay %s\n", verb->name);
    const bool last = verb->bit != CLI_EXEC; /* whose program's words are its own */
    fputs(last ? "" : "[\\-\\-flags] ", to);
    put(to, verb->synopsis);
    fputs(last ? " [\\-\\-flags]\n" : "\n", to);
    if (verb->details != NULL) {
        put_section(to, "DESCRIPTION");
        fputs(".nf\n", to);
        put(to, verb->details);
        fputs(".fi\n", to);
    }
    put_flags(to, verb->bit);
}

static void put_command(FILE *to) {
    fprintf(to, ".TH ASSAY 1 \"\" \"assay %s\" \"User Commands\"\n", ASSAY_VERSION);
    put_section(to, "NAME");
    fputs("assay \\- checks CUDA kernels against an oracle\n", to);
    put_section(to, "SYNOPSIS");
    fputs(".B assay\nVERB [OP[/VARIANT]...] [key=value...] [\\-\\-flags]\n", to);
    put_section(to, "VERBS");
    for (int i = 0; i < CLI_VERBS; ++i) {
        fprintf(to, ".TP\n.B %s\n", cli_verbs[i].name);
        put(to, cli_verbs[i].summary);
        fprintf(to, "; see\n.BR assay\\-%s (1)\n", cli_verbs[i].name);
    }
    put_section(to, "KEYS OF A CASE");
    for (const cli_key *key = cli_keys; key->name != NULL; ++key) {
        fprintf(to, ".TP\n\\fB%s\\fR=\\fI%s\\fR\n.nf\n", key->name, key->value);
        put(to, key->doc);
        fputs(".fi\n", to);
    }
}

void cli_man(FILE *to, const cli_verb *verb) {
    if (verb != NULL)
        put_verb(to, verb);
    else
        put_command(to);
    put_section(to, "EXIT STATUS");
    fputs(".nf\n", to);
    put(to, verb != NULL && verb->exits != NULL ? verb->exits : cli_exits);
    fputs(".fi\n", to);
}
