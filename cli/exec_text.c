/* The text that assay exec prints when the program has ended. */
#include "cli/exec.h"
#include "core/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *__cxa_demangle(const char *mangled, char *to, size_t *room, int *status);

char *exec_demangle(const char *name) {
    int status;
    return __cxa_demangle(name, NULL, NULL, &status);
}

enum { LONGEST = 100 };

void exec_short_name(const char *mangled, char *to, size_t room) {
    char *name = exec_demangle(mangled);
    snprintf(to, room, "%s", name != NULL ? name : mangled);
    free(name);
    int depth = 0;
    char *begin = to;
    for (char *c = to; *c != '\0'; ++c) {
        if (*c == '<')
            ++depth;
        else if (*c == '>')
            --depth;
        else if (*c == '(' && depth == 0 && strncmp(c, "(anonymous", 10) != 0) {
            *c = '\0';
            break;
        } else if (*c == ' ' && depth == 0 && strncmp(begin, "void ", 5) == 0)
            begin = c + 1;
    }
    memmove(to, begin, strlen(begin) + 1);
    if (strlen(to) > LONGEST) /* the JSON has them whole */
        memcpy(to + LONGEST - 3, "...", 4);
}

bool exec_is_used(const report_kernel *k) {
    return k->launches + k->skipped > 0;
}

static void put_kernels(const exec_report *r, FILE *to) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < r->n_kernels; ++i)
        used += exec_is_used(&r->kernel[i]);
    if (used == 0)
        return;
    fprintf(to, "assay exec: %10s %12s %10s  kernel\n", "launches", "blocks", "seconds");
    for (uint32_t i = 0; i < r->n_kernels; ++i) {
        const report_kernel *k = &r->kernel[i];
        char name[REPORT_NAME];
        if (!exec_is_used(k))
            continue;
        exec_short_name(k->name, name, sizeof name);
        fprintf(to, "assay exec: %10" PRIu64 " %12" PRIu64 " %10.3f  %s", k->launches, k->blocks,
                k->seconds, name);
        if (k->skipped > 0)
            fprintf(to, " (%" PRIu64 " more launches left out)", k->skipped);
        putc('\n', to);
    }
}

static void put_count(FILE *to, uint64_t n, const char *what, const char *behind) {
    const bool hiss = what[strlen(what) - 1] == 'h';
    fprintf(to, "%" PRIu64 " %s%s%s", n, what, n == 1 ? "" : hiss ? "es" : "s", behind);
}

static bool is_told(const report_problem *p) {
    return p->rule == 0;
}

uint64_t exec_count(const exec_report *r, bool told) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_problems; ++i)
        n += is_told(&r->problem[i]) == told;
    return n;
}

uint64_t exec_count_errors(const exec_report *r) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_problems; ++i)
        n += is_told(&r->problem[i]) && !exec_problem_is_note(r->problem[i].kind);
    return n;
}

static void put_problems(const exec_report *r, FILE *to) {
    const char *between = "";
    for (int kind = 0; kind < EXEC_PROBLEM_KINDS; ++kind) {
        uint64_t times = 0;
        for (uint32_t i = 0; i < r->n_problems; ++i)
            if ((int)r->problem[i].kind == kind && is_told(&r->problem[i]))
                times += r->problem[i].times;
        if (times == 0)
            continue;
        fputs(between, to);
        put_count(to, times, exec_problem_noun((exec_problem_kind)kind), "");
        between = ", ";
    }
}

void exec_summary(const exec_report *r, FILE *to) {
    uint64_t launches = 0, blocks = 0, kernels = 0;
    put_kernels(r, to);
    for (uint32_t i = 0; i < r->n_kernels; ++i) {
        kernels += exec_is_used(&r->kernel[i]);
        launches += r->kernel[i].launches;
        blocks += r->kernel[i].blocks;
    }
    if (r->calls == 0) {
        fputs("assay exec: the program called no function of CUDA\n", to);
        return;
    }
    fputs("assay exec: ", to);
    put_count(to, kernels, "kernel", ", ");
    put_count(to, launches, "launch", ", ");
    put_count(to, blocks, "block", "; ");
    put_count(to, r->allocations, "allocation", ", ");
    fprintf(to, "at most %" PRIu64 " bytes at a time; ", r->most_bytes);
    const uint64_t suppressed = exec_count(r, false);
    if (exec_count(r, true) > 0)
        put_problems(r, to);
    else
        fputs("no problem", to);
    if (suppressed > 0)
        fprintf(to, "; %" PRIu64 " suppressed", suppressed);
    if (r->lost > 0)
        fprintf(to, "; %" PRIu64 " more kernels or problems than there is room for", r->lost);
    putc('\n', to);
}

/* ---- JSON ---- */

static void put_json_kernels(const exec_report *r, FILE *to) {
    for (uint32_t i = 0; i < r->n_kernels; ++i) {
        const report_kernel *k = &r->kernel[i];
        char *name = exec_demangle(k->name);
        fprintf(to, "%s\n  {\"name\": ", i > 0 ? "," : "");
        json_string(to, name != NULL ? name : k->name);
        fputs(", \"mangled\": ", to);
        json_string(to, k->name);
        fprintf(to,
                ", \"launches\": %" PRIu64 ", \"skipped\": %" PRIu64 ", \"blocks\": %" PRIu64
                ", \"threads\": %" PRIu64 ", \"seconds\": ",
                k->launches, k->skipped, k->blocks, k->threads);
        json_number(to, k->seconds);
        putc('}', to);
        free(name);
    }
}

static void put_json_problems(const exec_report *r, FILE *to) {
    for (uint32_t i = 0; i < r->n_problems; ++i) {
        const report_problem *p = &r->problem[i];
        char file[REPORT_LINE];
        int32_t line;
        fprintf(to, "%s\n  {\"kind\": ", i > 0 ? "," : "");
        json_string(to, exec_problem_name(p->kind));
        fprintf(to, ", \"times\": %" PRIu64 ", \"suppressed\": %s, \"kernel\": ", p->times,
                is_told(p) ? "false" : "true");
        json_string(to, p->kernel[0] != '\0' ? p->kernel : NULL);
        fputs(", \"file\": ", to);
        if (exec_problem_place(p, file, &line)) {
            json_string(to, file);
            fprintf(to, ", \"line\": %d", line);
        } else {
            fputs("null, \"line\": null", to);
        }
        fputs(", \"text\": ", to);
        json_string(to, p->text);
        putc('}', to);
    }
}

void exec_json(const exec_report *r, const assay_cli_args *args, exec_end end, FILE *to) {
    fputs("{\"assay\": ", to);
    json_string(to, ASSAY_VERSION);
    fputs(", \"program\": [", to);
    for (char *const *word = args->program; *word != NULL; ++word) {
        fputs(word != args->program ? ", " : "", to);
        json_string(to, *word);
    }
    fprintf(to, "], \"exit\": %d, \"signal\": %d,\n \"calls\": %" PRIu64, end.code, end.signal,
            r->calls);
    fprintf(to,
            ", \"allocations\": %" PRIu64 ", \"most_bytes\": %" PRIu64 ", \"left_out\": %" PRIu64
            ",\n \"kernels\": [",
            r->allocations, r->most_bytes, r->lost);
    put_json_kernels(r, to);
    fputs("],\n \"problems\": [", to);
    put_json_problems(r, to);
    fputs("]}\n", to);
}
