#include "engine/operator_library.h"
#include "assay/operator.h"
#include "engine/elf_file.h"
#include "engine/kernel_file.h"
#include "engine/process/process.h"
#include "engine/shared_object.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char entry[] = "assay_operator_entry";

enum { LOADING_SECONDS = 20 };

static const operator_library *opened;

/* ---- whether it can be loaded at all ---- */

static assay_status check_file(const kernel_file *file, const char *path) {
    const kernel_part *own = &file->part[file->n_parts - 1];
    if (!elf_is(own->image, own->bytes))
        return assay_fail(ASSAY_ERR_FILE,
                          "%.300s: is no shared object; build one, as assay new operator NAME "
                          "shows",
                          path);
    if (!elf_is_whole(own->image, own->bytes))
        return assay_fail(ASSAY_ERR_FILE, "%.300s: is cut short; build it again", path);
    if (!elf_mentions(own->image, own->bytes, entry))
        return assay_fail(ASSAY_ERR_FILE,
                          "%.300s: defines no operator: ASSAY_OPERATOR is missing in it, or it is "
                          "a kernel's file, which --kernel names",
                          path);
    return ASSAY_OK;
}

/* In a child: the loader trusts a file's headers, so that a damaged file may end its process. */
static void try_to_load(int channel, void *context) {
    const char *const loaded = context;
    void *object;
    (void)channel;
    if (!freopen("/dev/null", "w", stderr))
        _exit(1);
    const char *const why = shared_object_load(loaded, &object);
    const assay_operator *o = why ? NULL : dlsym(object, entry);
    /* A byte of each, so that one beyond the file's end shows. */
    _exit(o && o->abi == ASSAY_OPERATOR_ABI && o->op && !o->op->name ? 1 : 0);
}

static assay_status check_whole(char *loaded, const char *path) {
    const process_limits limits = {.seconds = LOADING_SECONDS, .bytes = INFINITY};
    process child;
    char how[PROCESS_LINE];
    const int error = process_fork(&child, try_to_load, loaded);
    if (error != 0)
        return assay_fail(ASSAY_ERR_MEMORY, "%.300s: no process to try it in: %s", path,
                          strerror(error));
    process_finish(&child, &limits);
    if (child.end == PROCESS_EXIT && child.code == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%.300s: is damaged: a process that loads it %s; build it again", path,
                      process_how(&child, how));
}

/* ---- its operator ---- */

static assay_status check_abi(const assay_operator *o, const char *path) {
    if (o->abi == ASSAY_OPERATOR_ABI && o->layout == ASSAY_OPERATOR_LAYOUT)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%.300s: was built against another assay: its ABI is %u.%u, this one's "
                      "%u.%u; build it again with this one's headers",
                      path, (unsigned)o->abi, (unsigned)o->layout, (unsigned)ASSAY_OPERATOR_ABI,
                      (unsigned)ASSAY_OPERATOR_LAYOUT);
}

static assay_status count(const assay_case *c, void *context) {
    (void)c;
    ++*(int64_t *)context;
    return ASSAY_OK;
}

/* Its own cases are legal, and the set that is the default has some. */
static assay_status check_cases(const assay_op *op) {
    for (int s = 0; s < ASSAY_SETS; ++s) {
        int64_t cases = 0;
        const assay_status status = assay_op_visit_set(op, (assay_set)s, count, &cases);
        if (status != ASSAY_OK)
            return status;
        if (s == ASSAY_SMOKE && cases == 0)
            return assay_fail(ASSAY_ERR_FILE, "it has no case of the set smoke");
    }
    return ASSAY_OK;
}

static assay_status take(operator_library *l, const char *loaded) {
    const char *const why = shared_object_load(loaded, &l->object);
    if (why)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be loaded: %.300s", l->path, why);
    const assay_operator *o = dlsym(l->object, entry);
    if (!o || !o->op)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: defines no operator: ASSAY_OPERATOR is missing",
                          l->path);
    assay_status status = check_abi(o, l->path);
    if (status != ASSAY_OK)
        return status;
    status = assay_op_add(o->op);
    if (status == ASSAY_OK) {
        l->op = o->op;
        status = check_cases(l->op);
    }
    if (status == ASSAY_OK)
        return status;
    char line[512];
    snprintf(line, sizeof line, "%.500s", assay_error());
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", l->path, line);
}

/* ---- all of it ---- */

assay_status operator_library_open(operator_library *l, const char *path) {
    *l = (operator_library){0};
    if (opened)
        return assay_fail(ASSAY_ERR_USAGE, "%.300s: an operator is loaded already", path);
    kernel_file *file = calloc(1, sizeof *file);
    if (!file)
        return assay_fail(ASSAY_ERR_MEMORY, "%.300s: no memory to read it", path);
    snprintf(l->path, sizeof l->path, "%s", path);
    assay_status status = kernel_file_open(file, path);
    const bool open = status == ASSAY_OK;
    if (status == ASSAY_OK)
        status = check_file(file, path);
    if (status == ASSAY_OK)
        status = check_whole(file->loaded, path);
    if (status == ASSAY_OK)
        status = take(l, file->loaded);
    if (open) {
        memcpy(l->hash, file->hash, sizeof l->hash);
        kernel_file_close(file); /* guests would inherit it */
    }
    free(file);
    if (status == ASSAY_OK)
        opened = l;
    else
        operator_library_close(l);
    return status;
}

void operator_library_close(operator_library *l) {
    if (opened == l)
        opened = NULL;
    if (l->op)
        assay_op_remove(l->op);
    if (l->object)
        (void)dlclose(l->object);
    *l = (operator_library){0};
}

const operator_library *operator_library_of(const char *op) {
    return opened && strcmp(opened->op->name, op) == 0 ? opened : NULL;
}
