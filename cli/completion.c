/* assay completion: scripts for shells, made from the tables of verbs and flags. */
#include "cli/verbs.h"

#include <string.h>

/* ---- lists of words, separated by blanks ---- */

static void put_flags(FILE *to, unsigned verb) {
    for (const cli_flag_entry *f = cli_flags; f->name != NULL; ++f)
        if ((f->verbs & verb) != 0)
            fprintf(to, " %s", f->name);
}

static void put_ops(FILE *to) {
    for (int32_t i = 0; i < assay_op_count(); ++i)
        fprintf(to, " %s", assay_op_at(i)->name);
}

static void put_verbs(FILE *to) {
    for (int i = 0; i < CLI_VERBS; ++i)
        fprintf(to, " %s", cli_verbs[i].name);
}

/* What may follow a verb, beside flags. */
static void put_words(FILE *to, const cli_verb *verb) {
    for (const char *const *s = verb->subverbs; s != NULL && *s != NULL; ++s)
        fprintf(to, " %s", *s);
    if (verb->bit == CLI_HELP) {
        put_verbs(to);
        for (const cli_key *key = cli_keys; key->name != NULL; ++key)
            fprintf(to, " %s", key->name);
    }
    if (verb->bit != CLI_COMPLETION && verb->bit != CLI_EXEC)
        put_ops(to);
}

/* "a|b" as "a b" */
static void put_choices(FILE *to, const char *value) {
    for (; *value != '\0'; ++value)
        putc(*value == '|' ? ' ' : *value, to);
}

/* ---- bash, and zsh, which reads bash's ---- */

static void put_bash(FILE *to) {
    fputs("# bash completion for assay\n"
          "_assay_words() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local verb=${COMP_WORDS[1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          to);
    put_verbs(to);
    fputs(" --help --version' -- \"$word\"))\n        return\n    fi\n    case $before in\n", to);
    for (const cli_flag_entry *f = cli_flags; f->name != NULL; ++f) {
        if (f->kind == CLI_CHOICE) {
            fprintf(to, "    %s) COMPREPLY=($(compgen -W '", f->name);
            put_choices(to, f->value);
            fputs("' -- \"$word\")); return ;;\n", to);
        } else if (f->kind != CLI_SWITCH) {
            const char *how = f->kind == CLI_FILE ? "-f" : f->kind == CLI_FOLDER ? "-d" : "-W ''";
            fprintf(to, "    %s) COMPREPLY=($(compgen %s -- \"$word\")); return ;;\n", f->name,
                    how);
        }
    }
    fputs("    esac\n    case $verb in\n", to);
    for (int i = 0; i < CLI_VERBS; ++i) {
        fprintf(to, "    %s) words='", cli_verbs[i].name);
        put_words(to, &cli_verbs[i]);
        put_flags(to, cli_verbs[i].bit);
        fputs("' ;;\n", to);
    }
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    [ \"$verb\" != exec ] || COMPREPLY+=($(compgen -c -f -- \"$word\"))\n"
          "}\n"
          "complete -F _assay_words assay\n",
          to);
}

/* zsh runs this file as the function _assay at the first completion, which must answer, too. */
static void put_zsh(FILE *to) {
    fputs("#compdef assay\n"
          "# zsh's own reader of bash completion runs the rest.\n"
          "autoload -U +X bashcompinit && bashcompinit\n",
          to);
    put_bash(to);
    fputs("if [ \"$funcstack[1]\" = _assay ]; then\n"
          "    _bash_complete -F _assay_words\n"
          "fi\n",
          to);
}

/* ---- fish ---- */

/* In single quotes: only those and backslashes need one. */
static void put_quoted(FILE *to, const char *text) {
    putc('\'', to);
    for (; *text != '\0'; ++text) {
        if (*text == '\'' || *text == '\\')
            putc('\\', to);
        putc(*text, to);
    }
    putc('\'', to);
}

static void put_fish_flags(FILE *to, const cli_verb *verb) {
    for (const cli_flag_entry *f = cli_flags; f->name != NULL; ++f) {
        if ((f->verbs & verb->bit) == 0)
            continue;
        fprintf(to, "complete -c assay -n '__assay_verb %s' -l %s", verb->name, f->name + 2);
        if (f->kind == CLI_FILE || f->kind == CLI_FOLDER)
            fputs(" -rF", to);
        else if (f->kind != CLI_SWITCH)
            fputs(" -x", to);
        if (f->kind == CLI_CHOICE) {
            fputs(" -a '", to);
            put_choices(to, f->value);
            putc('\'', to);
        }
        fputs(" -d ", to);
        put_quoted(to, f->doc);
        putc('\n', to);
    }
}

static void put_fish(FILE *to) {
    fputs("# fish completion for assay\n"
          "function __assay_verb\n"
          "    set -l words (commandline -opc)\n"
          "    test \"$words[2]\" = $argv[1]\n"
          "end\n"
          "complete -c assay -f\n"
          "complete -c assay -n __fish_use_subcommand -l help -d 'lists the verbs'\n"
          "complete -c assay -n __fish_use_subcommand -l version -d 'the version'\n",
          to);
    for (int i = 0; i < CLI_VERBS; ++i) {
        const cli_verb *verb = &cli_verbs[i];
        fprintf(to, "complete -c assay -n __fish_use_subcommand -a %s -d ", verb->name);
        put_quoted(to, verb->summary);
        fprintf(to, "\ncomplete -c assay -n '__assay_verb %s' -a '", verb->name);
        put_words(to, verb);
        fputs("'\n", to);
        put_fish_flags(to, verb);
    }
}

assay_exit assay_cli_completion(const assay_cli_args *args) {
    FILE *to = args->out.stream;
    if (args->subverb == NULL)
        return assay_cli_complain(
            assay_fail(ASSAY_ERR_USAGE, "completion: name a shell: bash, zsh or fish"));
    if (strcmp(args->subverb, "bash") == 0)
        put_bash(to);
    else if (strcmp(args->subverb, "zsh") == 0)
        put_zsh(to);
    else
        put_fish(to);
    return ASSAY_EXIT_PASSED;
}
