#include "bench/arms/arm.h"
#include "engine/inside.h"

#include <stdlib.h>
#include <string.h>

void arm_init(arm_state *a, char *word, const inside_kernel *kernel) {
    *a = (arm_state){.kernel = *kernel, .name = word};
    if (strcmp(word, "clock") == 0)
        return;
    char *slash = strchr(word, '/');
    a->op = slash ? word : "";
    a->name = slash ? slash + 1 : word;
    if (slash)
        *slash = '\0';
}

void arm_clear(arm_state *a) {
    if (a->ready)
        work_clear(&a->work);
    for (int64_t i = 0; i < a->n_sets; ++i)
        set_clear(&a->sets[i]);
    form_clear(&a->form);
    shared_clear(&a->memory);
    a->n_sets = 0;
    a->ready = a->has_case = false;
}

const char *arm_class(assay_status status) {
    if (status == ASSAY_ERR_UNSUPPORTED)
        return "unavailable";
    return status == ASSAY_ERR_MEMORY ? "memory" : "error";
}

void arm_rest(arm_state *a) {
    /* A failure now is a failure again when the work is asked for. */
    if (a->ready && work_settle(&a->work) != ASSAY_OK)
        return;
}

/* ---- commands ---- */

static arm_phase phase_of(const arm_state *a) {
    if (a->ready)
        return ARM_READY;
    if (a->n_sets > 0)
        return ARM_HAS_SET;
    if (a->has_case)
        return ARM_HAS_CASE;
    return a->place.device ? ARM_HAS_DEVICE : ARM_STARTED;
}

static assay_status check_phase(const arm_state *a, const arm_command *c) {
    static const char *const reached_by[] = {"", "hello", "case", "set", "ready"};
    const arm_phase now = phase_of(a);
    if (now < c->phase)
        return assay_fail(ASSAY_ERR_USAGE, "'%s' comes after '%s'", c->name, reached_by[c->phase]);
    if (now == ARM_READY && c->last_phase)
        return assay_fail(ASSAY_ERR_USAGE, "'%s' comes after 'done'", c->name);
    return ASSAY_OK;
}

static const arm_command *find(const arm_state *a, const char *name) {
    const arm_command *c = a->op ? arm_variant_commands : arm_clock_commands;
    while (c->name && strcmp(c->name, name) != 0)
        ++c;
    return c->name ? c : NULL;
}

assay_status arm_obey(arm_state *a, char *line, FILE *answer) {
    words w = {.rest = line};
    const char *name = words_next(&w);
    const arm_command *c = name ? find(a, name) : NULL;
    if (!c)
        return assay_fail(ASSAY_ERR_USAGE,
                          "'%.40s' is not a command of the arm %s; docs/bench.md lists the "
                          "commands",
                          name ? name : "", a->name);
    const assay_status status = check_phase(a, c);
    return status == ASSAY_OK ? c->act(a, &w, answer) : status;
}

/* ---- hello ---- */

static assay_status open_device(const char *name, work_place *place) {
    assay_status status = assay_device_open_bare(name, &place->device);
    if (status == ASSAY_OK)
        status = arm_timer_find(place->device, &place->timer);
    return status == ASSAY_OK ? place->timer->open(&place->stream) : status;
}

assay_status arm_hello(arm_state *a, words *w, FILE *answer) {
    char *name, text[ASSAY_DEVICE_TEXT];
    work_place place = {0};
    assay_status status = words_text(w, "the device, cuda or sim,", &name);
    if (status == ASSAY_OK)
        status = words_end(w);
    if (status == ASSAY_OK && a->op && (!a->op[0] || !a->name[0]))
        status = assay_fail(ASSAY_ERR_USAGE,
                            "'%.60s' is not an arm; give OP/VARIANT, for example kronecker/v3, "
                            "or clock",
                            a->name);
    if (status == ASSAY_OK && a->place.device)
        status = assay_fail(ASSAY_ERR_USAGE, "hello was given twice");
    if (status == ASSAY_OK)
        status = open_device(name, &place);
    if (status == ASSAY_OK && a->op)
        status = inside_find_variant(place.device, &a->kernel, a->op, a->name, &place.variant);
    if (status == ASSAY_OK)
        status = place.device->probe(text);
    if (status != ASSAY_OK)
        return status;
    a->place = place;
    fprintf(answer, "%s", text);
    return ASSAY_OK;
}
