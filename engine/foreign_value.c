#include "engine/foreign_value.h"
#include "engine/expression.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* ---- tensors, in the order of assay_call ---- */

static const assay_tensor *find_output(const foreign_call *c, const char *name, size_t length) {
    const bool forward = c->stage == ASSAY_FORWARD;
    for (int32_t o = 0; o < c->sig->n_out; ++o)
        if (is_name(c->sig->out[o].name, name, length))
            return forward ? &c->call->out[o] : &c->call->in[c->sig->n_in + o];
    return NULL;
}

/* dy and dx: only those that are differentiable are there. */
static const assay_tensor *find_derivative(const foreign_call *c, const char *name, size_t length) {
    const assay_tensor *next = c->call->in + c->sig->n_in + c->sig->n_out;
    for (int32_t o = 0; o < c->sig->n_out; ++o)
        if (c->sig->out[o].differentiable && is_name(c->sig->out[o].name, name, length))
            return next;
        else
            next += c->sig->out[o].differentiable;
    next = c->call->out;
    for (int32_t i = 0; i < c->sig->n_in; ++i)
        if (c->sig->in[i].differentiable && is_name(c->sig->in[i].name, name, length))
            return next;
        else
            next += c->sig->in[i].differentiable;
    return NULL;
}

const assay_tensor *foreign_tensor(const foreign_call *c, const char *name, size_t length) {
    for (int32_t i = 0; i < c->sig->n_in; ++i)
        if (is_name(c->sig->in[i].name, name, length))
            return &c->call->in[i];
    const assay_tensor *output = find_output(c, name, length);
    if (output != NULL || c->stage == ASSAY_FORWARD || length < 2 || name[0] != 'd')
        return output;
    return find_derivative(c, name + 1, length - 1);
}

/* ---- numbers ---- */

static bool measure(const assay_tensor *t, const char *what, int64_t *value) {
    char *end;
    if (strcmp(what, "rows") == 0)
        *value = assay_tensor_rows(t);
    else if (strcmp(what, "cols") == 0)
        *value = assay_tensor_row_length(t);
    else if (strcmp(what, "stride") == 0)
        *value = assay_tensor_row_stride(t);
    else if (strcmp(what, "size") == 0)
        *value = assay_tensor_count(t);
    else if (strncmp(what, "dim", 3) == 0 && isdigit((unsigned char)what[3])) {
        const long axis = strtol(what + 3, &end, 10);
        if (*end != '\0' || axis >= t->rank)
            return false;
        *value = t->shape[axis];
    } else {
        return false;
    }
    return true;
}

/* "x.rows", "x_rows". */
static bool find_measure(const foreign_call *c, const char *text, int64_t *value) {
    for (const char *at = text; *at != '\0'; ++at) {
        const assay_tensor *t =
            *at == '.' || *at == '_' ? foreign_tensor(c, text, (size_t)(at - text)) : NULL;
        if (t != NULL && measure(t, at + 1, value))
            return true;
    }
    return false;
}

static bool find_key(const foreign_call *c, const char *text, bool real, foreign_value *v) {
    const assay_params *p = c->call->params;
    for (int32_t k = 0; k < p->count; ++k) {
        const assay_param *one = &p->item[k];
        const size_t length = strlen(one->name);
        char *end = NULL;
        if (strncmp(one->name, text, length) != 0)
            continue;
        *v = (foreign_value){.kind = FOREIGN_INTEGER, .integer = 1, .real = one->real};
        if (text[length] == '\0') {
            /* A real key has no integers; an empty list is one row. */
            for (int32_t i = 0; i < one->count; ++i)
                v->integer *= one->value[i];
            if (one->count == 0 && (one->real != 0 || real))
                v->kind = FOREIGN_REAL;
            return true;
        }
        const bool element = text[length] == '.' || text[length] == '_';
        const long at = element ? strtol(text + length + 1, &end, 10) : -1;
        if (!element || end == text + length + 1 || *end != '\0' || at < 0 || at >= one->count)
            continue;
        v->integer = one->value[at];
        return true;
    }
    return false;
}

static bool find_number(const char *text, foreign_value *v) {
    char *end;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-')
        return false;
    v->integer = strtoll(text, &end, 10);
    v->kind = FOREIGN_INTEGER;
    if (*end == '\0')
        return true;
    v->real = strtod(text, &end);
    v->kind = FOREIGN_REAL;
    return *end == '\0';
}

/* ---- all ---- */

void foreign_names(const foreign_call *c, char *names, size_t size) {
    names[0] = '\0';
    for (int32_t i = 0; i < c->sig->n_in + c->sig->n_out; ++i) {
        const size_t used = strlen(names);
        const char *name =
            i < c->sig->n_in ? c->sig->in[i].name : c->sig->out[i - c->sig->n_in].name;
        snprintf(names + used, size - used, " %s", name);
    }
    for (int32_t k = 0; k < c->call->params->count; ++k) {
        const size_t used = strlen(names);
        snprintf(names + used, size - used, " %s", c->call->params->item[k].name);
    }
}

static assay_status unknown(const foreign_call *c, const char *text) {
    char names[200];
    foreign_names(c, names, sizeof names);
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "the binding's argument %s is not in this case, which has%s", text, names);
}

/* A real key of 0 looks like an empty list where no type is told. */
static bool is_told(const foreign_call *c, const binding_argument *a) {
    const assay_params *p = c->call->params;
    for (int32_t k = 0; k < p->count; ++k)
        if (strcmp(p->item[k].name, a->value) == 0)
            return a->type != BINDING_UNTOLD || p->item[k].count > 0 || p->item[k].real != 0;
    return true;
}

assay_status foreign_find(const foreign_call *c, const binding_argument *a, foreign_value *v) {
    const char *text = a->value;
    *v = (foreign_value){0};
    /* A key may have a tensor's name: the type decides. */
    const bool number = a->type != BINDING_UNTOLD && a->type != BINDING_POINTER;
    const bool real = a->type == BINDING_FLOAT || a->type == BINDING_DOUBLE;
    if (number && find_key(c, text, real, v))
        return ASSAY_OK;
    v->tensor = foreign_tensor(c, text, strlen(text));
    if (v->tensor != NULL)
        return ASSAY_OK;
    if (strcmp(text, "stream") == 0 || strcmp(text, "workspace") == 0) {
        v->kind = FOREIGN_POINTER;
        v->pointer = text[0] == 's' ? c->call->stream : c->call->workspace;
        return ASSAY_OK;
    }
    v->kind = FOREIGN_INTEGER;
    v->integer = (int64_t)c->call->workspace_bytes;
    if (strcmp(text, "workspace_bytes") == 0 || find_measure(c, text, &v->integer) ||
        find_number(text, v))
        return ASSAY_OK;
    if (find_key(c, text, real, v))
        return is_told(c, a)
                   ? ASSAY_OK
                   : assay_fail(ASSAY_ERR_UNSUPPORTED,
                                "the binding's argument %s is a 0, or no list: say double "
                                "%s, or int64_t %s",
                                text, text, text);
    *v = (foreign_value){.kind = FOREIGN_ABSENT};
    return a->optional ? ASSAY_OK : unknown(c, text);
}

static assay_status find_size(const void *call, const char *name, int64_t *value) {
    binding_argument a = {.type = BINDING_INT64};
    foreign_value v;
    snprintf(a.value, sizeof a.value, "%s", name);
    const assay_status status = foreign_find(call, &a, &v);
    if (status == ASSAY_OK && v.kind != FOREIGN_INTEGER)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "the binding's %s is no size", name);
    *value = v.integer;
    return status;
}

assay_status foreign_sizes(const foreign_call *c, const char *text, int most, int64_t otherwise,
                           int64_t *values) {
    const expression_names names = {find_size, c};
    int count = 0;
    assay_status status =
        text[0] != '\0' ? expression_values(text, &names, most, values, &count) : ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < most; ++i) {
        values[i] = i < count ? values[i] : otherwise;
        if (values[i] < 0)
            status = assay_fail(ASSAY_ERR_UNSUPPORTED, "the binding's %s is negative", text);
    }
    return status;
}
