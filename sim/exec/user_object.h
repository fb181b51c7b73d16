/* Objects of the program that graphs keep alive: when the last reference goes, the program's
 * function is called. */
#ifndef ASSAY_SIM_EXEC_USER_OBJECT_H
#define ASSAY_SIM_EXEC_USER_OBJECT_H

#include "sim/exec/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct exec_user_object exec_user_object;

exec_error exec_user_object_create(exec_user_object **object, void *data,
                                   void (*destroy)(void *data), unsigned references);
exec_error exec_user_object_retain(exec_user_object *object, unsigned n);
exec_error exec_user_object_release(exec_user_object *object, unsigned n);

/* The references of a graph. All zeros is an empty list. */
typedef struct exec_user_objects {
    struct exec_reference *reference;
    size_t n;
} exec_user_objects;

/* `move`: they were the program's own. */
exec_error exec_user_objects_retain(exec_user_objects *list, exec_user_object *object, unsigned n,
                                    bool move);
exec_error exec_user_objects_release(exec_user_objects *list, exec_user_object *object, unsigned n);
exec_error exec_user_objects_copy(exec_user_objects *to, const exec_user_objects *from);
void exec_user_objects_free(exec_user_objects *list);

#endif
