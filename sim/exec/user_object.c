#include "sim/exec/user_object.h"

#include "sim/exec/handles.h"

#include <stdlib.h>

struct exec_user_object {
    size_t references;
    void (*destroy)(void *);
    void *data;
};

struct exec_reference {
    exec_user_object *object;
    size_t n;
};

exec_error exec_user_object_create(exec_user_object **object, void *data, void (*destroy)(void *),
                                   unsigned references) {
    exec_user_object *o = destroy != NULL && references > 0 ? malloc(sizeof *o) : NULL;
    *object = o;
    if (o == NULL)
        return destroy != NULL && references > 0 ? EXEC_OUT_OF_MEMORY : EXEC_INVALID_VALUE;
    *o = (exec_user_object){references, destroy, data};
    if (exec_handle_add(o, EXEC_HANDLE_USER_OBJECT) == ASSAY_OK)
        return EXEC_SUCCESS;
    free(o);
    *object = NULL;
    return EXEC_OUT_OF_MEMORY;
}

exec_error exec_user_object_retain(exec_user_object *o, unsigned n) {
    if (!exec_handle_is(o, EXEC_HANDLE_USER_OBJECT) || n == 0)
        return EXEC_INVALID_VALUE;
    o->references += n;
    return EXEC_SUCCESS;
}

static void release(exec_user_object *o, size_t n) {
    o->references -= n;
    if (o->references > 0)
        return;
    exec_handle_remove(o);
    o->destroy(o->data);
    free(o);
}

exec_error exec_user_object_release(exec_user_object *o, unsigned n) {
    if (!exec_handle_is(o, EXEC_HANDLE_USER_OBJECT) || n == 0 || n > o->references)
        return EXEC_INVALID_VALUE;
    release(o, n);
    return EXEC_SUCCESS;
}

static struct exec_reference *find(const exec_user_objects *list, const exec_user_object *o) {
    for (size_t i = 0; i < list->n; ++i)
        if (list->reference[i].object == o)
            return &list->reference[i];
    return NULL;
}

static exec_error add(exec_user_objects *list, exec_user_object *o, size_t n) {
    struct exec_reference *r = find(list, o);
    if (r == NULL) {
        r = realloc(list->reference, (list->n + 1) * sizeof *r);
        if (r == NULL)
            return EXEC_OUT_OF_MEMORY;
        list->reference = r;
        r = &r[list->n++];
        *r = (struct exec_reference){.object = o};
    }
    r->n += n;
    return EXEC_SUCCESS;
}

exec_error exec_user_objects_retain(exec_user_objects *list, exec_user_object *o, unsigned n,
                                    bool move) {
    if (!exec_handle_is(o, EXEC_HANDLE_USER_OBJECT) || n == 0 || (move && n > o->references))
        return EXEC_INVALID_VALUE;
    const exec_error error = add(list, o, n);
    if (error == EXEC_SUCCESS && !move)
        o->references += n;
    return error;
}

exec_error exec_user_objects_release(exec_user_objects *list, exec_user_object *o, unsigned n) {
    struct exec_reference *r = find(list, o);
    if (r == NULL || n == 0 || n > r->n)
        return EXEC_INVALID_VALUE;
    r->n -= n;
    if (r->n == 0)
        *r = list->reference[--list->n];
    release(o, n);
    return EXEC_SUCCESS;
}

exec_error exec_user_objects_copy(exec_user_objects *to, const exec_user_objects *from) {
    for (size_t i = 0; i < from->n; ++i) {
        const struct exec_reference *r = &from->reference[i];
        if (add(to, r->object, r->n) != EXEC_SUCCESS)
            return EXEC_OUT_OF_MEMORY;
        r->object->references += r->n;
    }
    return EXEC_SUCCESS;
}

void exec_user_objects_free(exec_user_objects *list) {
    for (size_t i = 0; i < list->n; ++i)
        release(list->reference[i].object, list->reference[i].n);
    free(list->reference);
    *list = (exec_user_objects){0};
}
