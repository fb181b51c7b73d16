#include "mutants/source.h"
#include "mutants/lex.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

assay_status source_read(const char *path, char **text) {
    FILE *file = fopen(path, "r");
    size_t size = 0;
    *text = NULL;
    const ssize_t n = file ? getdelim(text, &size, '\0', file) : -1;
    const bool failed = !file || ferror(file);
    if (file)
        fclose(file);
    if (n >= 0 && !failed)
        return ASSAY_OK;
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s; mutants need the tree that assay was built from",
                      path, failed ? strerror(errno) : "empty");
}

/* ---- the list ---- */

static source *find(sources *all, const char *path) {
    for (int32_t i = 0; i < all->count; ++i)
        if (strcmp(all->item[i].path, path) == 0)
            return &all->item[i];
    return NULL;
}

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the list of kernel files");
}

static bool is_shared(const char *path) {
    return strncmp(path, "kernels/common/", 15) == 0 || strncmp(path, "device/", 7) == 0;
}

static assay_status add_file(sources *all, const char *root, const char *path, source **added) {
    char whole[4096];
    if (all->count == all->room) {
        const int32_t room = 2 * all->room + 64;
        source *more = realloc(all->item, (size_t)room * sizeof *more);
        if (!more)
            return no_memory();
        all->item = more;
        all->room = room;
    }
    source *s = &all->item[all->count];
    *s = (source){.device = is_shared(path), .oracle = strncmp(path, "oracles/", 8) == 0};
    snprintf(s->path, sizeof s->path, "%s", path);
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    const assay_status status = source_read(whole, &s->text);
    if (status == ASSAY_OK)
        ++all->count;
    *added = s;
    return status;
}

static assay_status add_user(source *s, const source_user *user) {
    source_user *more = realloc(s->user, ((size_t)s->n_users + 1) * sizeof *more);
    if (!more)
        return no_memory();
    s->user = more;
    s->user[s->n_users++] = *user;
    return ASSAY_OK;
}

/* ---- the files that a file includes ---- */

typedef struct walk {
    sources *all;
    const char *root;
    source_user user;
} walk;

static assay_status visit(walk *w, const char *path);

static bool mutated(const char *path) {
    return strncmp(path, "kernels/", 8) == 0 || strncmp(path, "device/", 7) == 0;
}

static assay_status follow(const char *line, void *context) {
    char path[SOURCE_PATH];
    if (!lex_include(line, path, sizeof path) || !mutated(path))
        return ASSAY_OK;
    return visit(context, path);
}

static assay_status visit(walk *w, const char *path) {
    assay_status status = ASSAY_OK;
    source *s = find(w->all, path);
    for (int32_t u = 0; s && u < s->n_users; ++u)
        if (s->user[u].op == w->user.op && s->user[u].variant == w->user.variant)
            return ASSAY_OK;
    if (!s)
        status = add_file(w->all, w->root, path, &s);
    if (status == ASSAY_OK)
        status = add_user(s, &w->user);
    /* The list may move while it grows; the text does not. */
    return status == ASSAY_OK ? lex_directives(s->text, follow, w) : status;
}

assay_status sources_add(sources *all, const char *root, const char *op, const char *variant) {
    walk w = {all, root, {op, variant}};
    char path[SOURCE_PATH];
    snprintf(path, sizeof path, "kernels/%s/%s.cu", op, variant);
    return visit(&w, path);
}

/* ---- oracles ---- */

static bool is_c(const char *name) {
    const size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, ".c") == 0;
}

assay_status sources_add_oracle(sources *all, const char *root, const char *op) {
    char path[4096];
    struct dirent **entry;
    snprintf(path, sizeof path, "%s/oracles/%s", root, op);
    const int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
    assay_status status = ASSAY_OK;
    for (int i = 0; i < n; ++i) {
        char name[SOURCE_PATH];
        source *s;
        snprintf(name, sizeof name, "oracles/%.50s/%.90s", op, entry[i]->d_name);
        if (status == ASSAY_OK && is_c(entry[i]->d_name)) {
            status = add_file(all, root, name, &s);
            if (status == ASSAY_OK)
                status = add_user(s, &(source_user){op, "oracle"});
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

void sources_clear(sources *all) {
    for (int32_t i = 0; i < all->count; ++i) {
        free(all->item[i].text);
        free(all->item[i].user);
    }
    free(all->item);
    *all = (sources){0};
}
