/* assay certificate */
#include "cli/cli.h"
#include "cli/state.h"
#include "core/columns.h"
#include "engine/isolate.h"
#include "engine/variant_run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct verification {
    const assay_cli_args *args;
    char directory[PATH_MAX];
    unsigned char key[HASH_KEY];
    const assay_device *device; /* isolated */
    columns lines;
    bool refused;
} verification;

/* ---- one certificate ---- */

/* Hashing a module takes a while, and every variant of a device is in the same one. */
static assay_status subject_now(const verification *o, const char *op, const char *variant,
                                check_scope scope, certificate_subject *now, bool *known) {
    static certificate_subject kept;
    const assay_variant *v = variant_find(o->device, op, variant);
    *known = v != NULL;
    if (!v)
        return ASSAY_OK;
    if (kept.op[0] == '\0') {
        const assay_status status = certificate_subject_init(&kept, o->device, v);
        if (status != ASSAY_OK)
            return status;
    }
    *now = kept;
    snprintf(now->op, sizeof now->op, "%s", op);
    snprintf(now->variant, sizeof now->variant, "%s", variant);
    now->scope = scope;
    certificate_name_operator(now);
    return ASSAY_OK;
}

static assay_status check_certificate(const verification *o, const char *path,
                                      const assay_certificate *c, bool *holds,
                                      char why[CERTIFICATE_WHY]) {
    certificate_subject now;
    char own[PATH_MAX];
    bool known;
    *holds = false;
    assay_status status = state_certificate_path(o->directory, &c->subject, own);
    if (status != ASSAY_OK)
        return status;
    if (strcmp(path, own) != 0) {
        snprintf(why, CERTIFICATE_WHY, "it lies where another one belongs: %.200s", path);
        return ASSAY_OK;
    }
    status = subject_now(o, c->subject.op, c->subject.variant, c->subject.scope, &now, &known);
    if (status != ASSAY_OK)
        return status;
    if (known)
        status = certificate_holds(c, &now, holds, why);
    if (known && *holds && o->args->require)
        *holds = certificate_sandboxed(c, why);
    if (known)
        return status;
    const bool by_own = c->subject.operator[0] != '\0';
    snprintf(why, CERTIFICATE_WHY,
             "%.40s has no %.47s/%.31s; is it in a file? name it with --kernel%s%.60s",
             o->device->name, c->subject.op, c->subject.variant,
             by_own ? ", and by --operator a file such as " : "",
             by_own ? c->subject.operator_file : "");
    return ASSAY_OK;
}

static void add_line(columns *lines, const assay_certificate *c, bool holds, const char *why) {
    double worst = 0;
    int64_t passed = 0;
    for (int64_t i = 0; i < c->n_cases; ++i) {
        passed += c->cases[i].verdict == ASSAY_PASS;
        worst = c->cases[i].ratio > worst ? c->cases[i].ratio : worst;
    }
    columns_add(lines, "%s", holds ? "valid" : "refused");
    columns_add(lines, "%s/%s", c->subject.op, c->subject.variant);
    columns_add(lines, "%s", c->subject.device);
    columns_add(lines, "%s", c->set);
    columns_add(lines, "%lld cases", (long long)passed);
    columns_add(lines, "worst %.3g", worst);
    const char *const phrase = scope_phrase(c->subject.scope);
    columns_add(lines, "%s%s%s%s%s", c->date, *phrase != '\0' ? "  " : "", phrase,
                holds ? "" : "  ", holds ? "" : why);
}

/* Reads and checks one file. A defect of it is a line, not the end. */
static assay_status visit(verification *o, const char *path) {
    assay_certificate c;
    char why[CERTIFICATE_WHY];
    bool exists, holds = false;
    assay_status status = state_read(path, o->key, &exists, &c);
    if (status == ASSAY_ERR_FILE) {
        printf("refused  %s\n", assay_error());
        o->refused = true;
        return ASSAY_OK;
    }
    if (status == ASSAY_OK && strcmp(c.subject.device, o->device->name) == 0) {
        status = check_certificate(o, path, &c, &holds, why);
        if (status == ASSAY_OK)
            add_line(&o->lines, &c, holds, why);
        o->refused |= !holds;
    }
    certificate_clear(&c);
    return status;
}

/* ---- the verb's words ---- */

static int is_certificate(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".cert") == 0;
}

static assay_status visit_all(verification *o) {
    struct dirent **entries;
    assay_status status = ASSAY_OK;
    const int n = scandir(o->directory, &entries, is_certificate, alphasort);
    if (n < 0)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be listed: %s; check its permissions",
                          o->directory, strerror(errno));
    for (int i = 0; i < n; ++i) {
        char path[PATH_MAX + 300];
        snprintf(path, sizeof path, "%s/%s", o->directory, entries[i]->d_name);
        if (status == ASSAY_OK)
            status = visit(o, path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static assay_status path_of(const verification *o, const char *op, const char *variant,
                            char path[PATH_MAX]) {
    certificate_subject subject = {.scope = o->args->scope};
    snprintf(subject.op, sizeof subject.op, "%s", op);
    snprintf(subject.variant, sizeof subject.variant, "%s", variant);
    snprintf(subject.device, sizeof subject.device, "%s", o->device->name);
    return state_certificate_path(o->directory, &subject, path);
}

static assay_status verify_variant(verification *o, const char *op, const char *variant) {
    char path[PATH_MAX];
    bool exists;
    assay_certificate c;
    assay_status status = path_of(o, op, variant, path);
    if (status != ASSAY_OK)
        return status;
    status = state_read(path, o->key, &exists, &c);
    certificate_clear(&c);
    if (status != ASSAY_OK || exists)
        return visit(o, path);
    printf("none     %s/%s on %s: assay check %s/%s --set ci%s --certify --device %s\n", op,
           variant, o->device->name, op, variant, scope_flags(o->args->scope), o->device->name);
    o->refused = true;
    return ASSAY_OK;
}

static assay_status verify(verification *o) {
    assay_status status = ASSAY_OK;
    if (o->args->n_targets == 0)
        return visit_all(o);
    for (int32_t t = 0; status == ASSAY_OK && t < o->args->n_targets; ++t) {
        const assay_cli_target *target = &o->args->target[t];
        bool any = false;
        for (int32_t v = 0; status == ASSAY_OK && v < o->device->n_variants; ++v) {
            const assay_variant *variant = o->device->variants[v];
            if (strcmp(variant->op, target->op->name) == 0 &&
                (!target->variant || strcmp(variant->name, target->variant) == 0)) {
                any = true;
                status = verify_variant(o, variant->op, variant->name);
            }
        }
        if (!any)
            status = assay_fail(ASSAY_ERR_USAGE,
                                "%s has no kernel of %s; is it in a file? name it with --kernel",
                                o->device->name, target->op->name);
    }
    return status;
}

/* The text itself, once it has been read without a fault. */
static assay_status show(verification *o) {
    const assay_cli_args *args = o->args;
    char path[PATH_MAX], *text;
    size_t size;
    bool exists;
    assay_certificate c;
    if (args->n_targets != 1 || !args->target[0].variant)
        return assay_fail(ASSAY_ERR_USAGE, "certificate show needs one OP/VARIANT");
    assay_status status = path_of(o, args->target[0].op->name, args->target[0].variant, path);
    if (status == ASSAY_OK)
        status = state_read(path, o->key, &exists, &c);
    if (status != ASSAY_OK)
        return status;
    if (!exists)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: there is no such certificate", path);
    status = certificate_format(&c, o->key, &text, &size);
    if (status == ASSAY_OK) {
        (void)fwrite(text, 1, size, stdout);
        free(text);
    }
    certificate_clear(&c);
    return status;
}

assay_exit assay_cli_certificate(const assay_cli_args *args) {
    verification o = {.args = args, .lines = {.align = "llllrll"}};
    const assay_device *device;
    assay_status status = assay_cli_open_device(args, &device);
    if (status == ASSAY_OK)
        status = assay_cli_isolate(args, device, &o.device);
    if (status == ASSAY_OK)
        status = state_directory(o.directory);
    if (status == ASSAY_OK)
        status = state_key(o.directory, o.key);
    if (status == ASSAY_OK)
        status = args->subverb && strcmp(args->subverb, "show") == 0 ? show(&o) : verify(&o);
    const bool list = !args->subverb || strcmp(args->subverb, "list") == 0;
    if (status == ASSAY_OK && list && o.lines.count == 0 && !o.refused)
        printf("no certificates in %s\n", o.directory);
    const assay_status printed = columns_print(&o.lines, stdout, 0);
    status = status == ASSAY_OK ? printed : status;
    assay_exit code = o.refused && !list ? ASSAY_EXIT_REFUSED : ASSAY_EXIT_PASSED;
    if (status != ASSAY_OK)
        code = assay_cli_complain(status);
    assay_isolate_end(o.device);
    return code;
}
