/* Hints about managed memory, page by page. They change nothing, since it is everywhere at once; a
 * program may ask for them. The runtime and the driver number advice and attributes alike. */
#ifndef ASSAY_SIM_EXEC_ADVICE_H
#define ASSAY_SIM_EXEC_ADVICE_H

#include "sim/exec/allocate.h"

#include <stddef.h>

/* Before locations, a device's number named it, or -1 the host. */
exec_location exec_hint_of_device(int device);

/* Of managed memory. EXEC_INVALID_VALUE */
exec_error exec_advise(const void *memory, size_t bytes, int advice, exec_location where);
exec_error exec_prefetch(const void *memory, size_t bytes, exec_location where, unsigned flags,
                         void *stream);

/* cudaMemRangeGetAttribute: `room` is the size of the answer. */
exec_error exec_range_get(void *to, size_t room, int attribute, const void *memory, size_t bytes);
exec_error exec_range_get_all(void *const *to, const size_t *room, const int *attribute, size_t n,
                              const void *memory, size_t bytes);

/* Memory that is freed has none any more. */
void exec_advice_forget(const void *memory, size_t bytes);

#endif
