/* The conditional handles of graphs: a number that kernels set, by which conditional nodes run. */
#ifndef ASSAY_SIM_EXEC_CONDITION_H
#define ASSAY_SIM_EXEC_CONDITION_H

#include "sim/exec/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As cudaGraphConditionalNodeType numbers them. */
typedef enum exec_conditional { EXEC_IF, EXEC_WHILE, EXEC_SWITCH } exec_conditional;

/* It lives as long as something holds it. */
typedef struct exec_condition {
    uint32_t value, first;
    bool assigned; /* each launch begins with `first` */
    bool used;     /* a node has it */
    size_t holders;
} exec_condition;

/* Those of a graph, which holds them. All zeros is an empty list. */
typedef struct exec_conditions {
    exec_condition **condition;
    size_t n;
} exec_conditions;

exec_error exec_condition_create(exec_conditions *list, uint32_t first, bool assigned,
                                 uint64_t *handle);
exec_condition *exec_condition_of(uint64_t handle); /* NULL: it is none */
void exec_condition_drop(exec_condition *condition);

exec_error exec_conditions_copy(exec_conditions *to, const exec_conditions *from);
void exec_conditions_free(exec_conditions *list);
void exec_conditions_begin(const exec_conditions *list); /* a launch begins */

#endif
