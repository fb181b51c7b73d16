/*
 * One set of inputs, with room for the results of a call: first described, line by line, then
 * on the device. Tensors are dense, aligned to 256 bytes, and without guard zones: `assay check`
 * has those.
 */
#ifndef ASSAY_BENCH_ARMS_SET_H
#define ASSAY_BENCH_ARMS_SET_H

#include "bench/arms/form.h"
#include "bench/arms/shared.h"
#include "bench/arms/timer.h"

#include <stdbool.h>

/* In the order of a call's arguments. */
typedef enum set_group { SET_IN, SET_OUT, SET_COT, SET_GRAD } set_group;
enum { SET_GROUPS = 4 };

typedef struct set_tensor {
    bool given;           /* a line has told of it */
    const char *name;     /* the input's or output's own */
    size_t offset, bytes; /* in the shared memory */
    assay_tensor tensor;  /* data: the device's, NULL before set_load */
    void *taken;          /* the device's: results of the last call; NULL: look at the tensor */
    int64_t swapped[2];   /* elements that have changed places; the same: none */
} set_tensor;

/* The last call's results, as far as they are there. */
typedef enum set_results { SET_NOTHING, SET_IN_PLACE, SET_TAKEN } set_results;

typedef struct set {
    const form *form;
    set_tensor *tensor[SET_GROUPS]; /* n_in, n_out, n_out, n_in; one allocation */
    set_results results;
    bool fresh; /* its data are such as no call has seen */
} set;

/* Which groups an action is for. */
typedef unsigned set_groups;
#define SET_BIT(group) (1u << (group))

assay_status set_init(set *s, const form *f) ASSAY_MUST_CHECK;
void set_clear(set *s);

/* The next tensor of the groups, in order, or NULL; begins with {0}. Gradients and cotangents are
 * there only where differentiable. */
typedef struct set_walk {
    int group;
    int32_t next;
} set_walk;
set_tensor *set_next(const set *s, set_groups groups, set_walk *w);

/* NULL: none of that name, which is the input's or output's own in every group. */
set_tensor *set_find(const set *s, set_group group, const char *name);

size_t set_bytes(const set *s, set_groups groups);

/* All tensors of the groups are described. */
assay_status set_complete(const set *s, int64_t index, set_groups groups) ASSAY_MUST_CHECK;

/* Memory for the groups, and the data of those that are inputs. */
assay_status set_load(set *s, const assay_device *device, const shared *from,
                      set_groups groups) ASSAY_MUST_CHECK;
/* Memory to keep results of the groups apart; not where memory is short, or results are large. */
void set_make_room(set *s, const assay_device *device, set_groups groups);
void set_unload(set *s, const assay_device *device);

/* Queued: NaN in all tensors of the groups; or their present values, kept apart. */
assay_status set_blank(const set *s, const arm_timer *timer, set_groups groups) ASSAY_MUST_CHECK;
assay_status set_keep(set *s, const arm_timer *timer, set_groups groups) ASSAY_MUST_CHECK;

/* The results of the last call, into the shared memory. */
assay_status set_store(const set *s, const assay_device *device, const shared *to,
                       set_groups groups) ASSAY_MUST_CHECK;

#endif
