#include "mutants/original.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static assay_status cannot(const char *path) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", path, strerror(errno));
}

assay_status original_find(const checker *k, build_level level, const source_user *user,
                           char path[ORIGINAL_PATH]) {
    char mine[ORIGINAL_PATH], part[2][ORIGINAL_PATH + 8];
    snprintf(path, ORIGINAL_PATH, "%s/%s_%s%d.so", k->builder->work, user->op, user->variant,
             (int)level);
    if (access(path, R_OK) == 0)
        return ASSAY_OK;
    snprintf(mine, sizeof mine, "%s/original.so", k->place);
    const assay_status status =
        builder_compile(k->builder, level, user->op, user->variant, NULL, mine);
    if (status != ASSAY_OK)
        return assay_fail(ASSAY_ERR_FILE, "the unchanged %s/%s: %s", user->op, user->variant,
                          assay_error());
    snprintf(part[0], sizeof part[0], "%s.o", mine);
    snprintf(part[1], sizeof part[1], "%s.o", path);
    return rename(part[0], part[1]) == 0 && rename(mine, path) == 0 ? ASSAY_OK : cannot(path);
}

/* ---- its word ---- */

static uint64_t hash(uint64_t h, const char *text) {
    for (; *text; ++text)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (h ^ 0xff) * UINT64_C(1099511628211);
}

static bool was_cleared(const checker *k, uint64_t key) {
    for (int32_t i = 0; i < k->n_cleared; ++i)
        if (k->cleared[i] == key)
            return true;
    return false;
}

static assay_status note_cleared(checker *k, uint64_t key) {
    if (k->n_cleared == k->room) {
        const int32_t room = 2 * k->room + 64;
        uint64_t *more = realloc(k->cleared, (size_t)room * sizeof *more);
        if (!more)
            return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a checker's notes");
        k->cleared = more;
        k->room = room;
    }
    k->cleared[k->n_cleared++] = key;
    return ASSAY_OK;
}

/* Of a question that the original declined. */
#define DECLINED UINT64_C(0x9e3779b97f4a7c15)

assay_status original_clear(checker *k, build_level level, const source_user *user,
                            const question *q, mutant_layer found, bool *fair) {
    char text[ASSAY_CASE_TEXT], path[ORIGINAL_PATH];
    question_text(q, text);
    uint64_t key = hash(hash(hash(UINT64_C(14695981039346656037), text), user->op), user->variant);
    key += (uint64_t)level + 16 * (uint64_t)q->kind;
    *fair = true;
    if (was_cleared(k, key))
        return ASSAY_OK;
    *fair = found != LAYER_REFUSED;
    if (was_cleared(k, key ^ DECLINED))
        return ASSAY_OK;
    subject s = {0};
    answer a;
    assay_status status = original_find(k, level, user, path);
    if (status == ASSAY_OK)
        status = subject_open(&s, k->builder, level, user, path, subject_seconds(level));
    if (status == ASSAY_OK)
        status = subject_ask(&s, q, &a);
    if (status == ASSAY_OK && a.layer == LAYER_REFUSED) {
        subject_close(&s);
        return note_cleared(k, key ^ DECLINED);
    }
    *fair = status != ASSAY_OK || a.layer != LAYER_HANG;
    if (status == ASSAY_OK && a.layer != LAYER_NONE && *fair)
        status = assay_fail(ASSAY_ERR_KERNEL, "the unchanged %s/%s is found wrong too, %s: %s",
                            user->op, user->variant, text, a.reason);
    subject_close(&s);
    return status == ASSAY_OK && *fair ? note_cleared(k, key) : status;
}
