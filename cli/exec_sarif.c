/* SARIF 2.1.0, which code hosts show beside the source: a rule for each kind of problem, a result
 * for each problem. */
#include "cli/exec.h"
#include "core/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files below the working folder are named from there, as a checkout's files are. */
static const char *below_here(const char *path) {
    char here[PATH_MAX];
    const size_t n = getcwd(here, sizeof here) != NULL ? strlen(here) : 0;
    return n > 1 && strncmp(path, here, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void put_uri(FILE *to, const char *path) {
    path = below_here(path);
    fputs(path[0] == '/' ? "\"file://" : "\"", to);
    for (; *path != '\0'; ++path)
        if (isalnum((unsigned char)*path) || strchr("-_.~/", *path) != NULL)
            putc(*path, to);
        else
            fprintf(to, "%%%02X", (unsigned char)*path);
    putc('"', to);
}

/* A problem without a line is the program's. */
static void put_location(FILE *to, const report_problem *p, const char *program) {
    char file[REPORT_LINE];
    int32_t line = 0;
    const bool known = exec_problem_place(p, file, &line);
    fputs("\"locations\": [{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ", to);
    put_uri(to, known ? file : program);
    putc('}', to);
    if (known)
        fprintf(to, ", \"region\": {\"startLine\": %d}", line > 0 ? line : 1);
    putc('}', to);
    if (p->kernel[0] != '\0') {
        char *name = exec_demangle(p->kernel);
        fputs(", \"logicalLocations\": [{\"kind\": \"function\", \"name\": ", to);
        json_string(to, name != NULL ? name : p->kernel);
        fputs(", \"decoratedName\": ", to);
        json_string(to, p->kernel);
        fputs("}]", to);
        free(name);
    }
    fputs("}]", to);
}

/* A gap of the simulation is no defect of the program. */
static const char *level_of(exec_problem_kind kind) {
    const bool is_note = kind == EXEC_PROBLEM_NOT_SIMULATED || kind == EXEC_PROBLEM_OPCODE ||
                         kind == EXEC_PROBLEM_NO_PTX || exec_problem_is_note(kind);
    return is_note ? "note" : kind == EXEC_PROBLEM_LEAK ? "warning" : "error";
}

static void put_result(FILE *to, const report_problem *p, const char *program) {
    fprintf(to,
            "  {\"ruleId\": \"%s\", \"ruleIndex\": %d, \"level\": \"%s\", \"message\": {\"text\": ",
            exec_problem_name(p->kind), (int)p->kind, level_of(p->kind));
    json_string(to, p->text);
    fprintf(to, "}, \"occurrenceCount\": %" PRIu64 ", ", p->times);
    put_location(to, p, program);
    if (p->rule > 0)
        fputs(", \"suppressions\": [{\"kind\": \"external\"}]", to);
    putc('}', to);
}

static void put_rules(FILE *to) {
    for (int k = 0; k < EXEC_PROBLEM_KINDS; ++k)
        fprintf(to, "%s   {\"id\": \"%s\", \"shortDescription\": {\"text\": \"%s\"}}",
                k > 0 ? ",\n" : "", exec_problem_name((exec_problem_kind)k),
                exec_problem_noun((exec_problem_kind)k));
}

void exec_sarif(const exec_report *r, const assay_cli_args *args, exec_end end, FILE *to) {
    fputs(
        "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\",\n"
        " \"runs\": [{\n  \"tool\": {\"driver\": {\"name\": \"assay\", \"version\": ",
        to);
    json_string(to, ASSAY_VERSION);
    fputs(", \"rules\": [\n", to);
    put_rules(to);
    fprintf(to,
            "]}},\n  \"invocations\": [{\"executionSuccessful\": %s, \"exitCode\": %d, "
            "\"arguments\": [",
            end.code == 0 && end.signal == 0 ? "true" : "false",
            end.signal > 0 ? EXEC_EXIT_SIGNAL + end.signal : end.code);
    for (char *const *word = args->program; *word != NULL; ++word) {
        fputs(word != args->program ? ", " : "", to);
        json_string(to, *word);
    }
    fputs("]}],\n  \"results\": [\n", to);
    for (uint32_t i = 0; i < r->n_problems; ++i) {
        fputs(i > 0 ? ",\n" : "", to);
        put_result(to, &r->problem[i], args->program[0]);
    }
    fputs("]}]}\n", to);
}
