/* Attributes of streams and of kernels' nodes, of the size that cudaLaunchAttributeValue has. They
 * are hints that change nothing here, and are given back as they were set. */
#ifndef ASSAY_SIM_EXEC_ATTRIBUTES_H
#define ASSAY_SIM_EXEC_ATTRIBUTES_H

#include "sim/exec/error.h"

#include <stddef.h>

enum { EXEC_ATTRIBUTE_BYTES = 64 };

/* All zeros is an empty list. */
typedef struct exec_attributes {
    struct exec_attribute *attribute;
    size_t n;
} exec_attributes;

exec_error exec_attribute_set(exec_attributes *list, int id, const void *value);

/* Zeros where it was not set. */
void exec_attribute_get(const exec_attributes *list, int id, void *value);

/* `to` gets all that `from` has, and loses what it had. */
exec_error exec_attributes_copy(exec_attributes *to, const exec_attributes *from);
void exec_attributes_free(exec_attributes *list);

#endif
