/* Hints about managed memory. */
#include "sim/exec/advice.h"

#include "sim/exec/cudart/cudart.h"

#if EXEC_CUDART >= 13
EXPORT exec_error cudaMemPrefetchAsync(const void *memory, size_t bytes, exec_location to,
                                       unsigned flags, void *stream) {
    EXEC_CALL(exec_prefetch(memory, bytes, to, flags, stream));
}
EXPORT exec_error cudaMemAdvise(const void *memory, size_t bytes, int advice, exec_location to) {
    EXEC_CALL(exec_advise(memory, bytes, advice, to));
}
#else
EXPORT exec_error cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream) {
    EXEC_CALL(exec_prefetch(memory, bytes, exec_hint_of_device(device), 0, stream));
}
EXPORT exec_error cudaMemAdvise(const void *memory, size_t bytes, int advice, int device) {
    EXEC_CALL(exec_advise(memory, bytes, advice, exec_hint_of_device(device)));
}
#if EXEC_CUDART == 12
EXPORT exec_error cudaMemPrefetchAsync_v2(const void *memory, size_t bytes, exec_location to,
                                          unsigned flags, void *stream) {
    EXEC_CALL(exec_prefetch(memory, bytes, to, flags, stream));
}
SAME_AS(cudaMemPrefetchAsync_v2_ptsz, cudaMemPrefetchAsync_v2);
EXPORT exec_error cudaMemAdvise_v2(const void *memory, size_t bytes, int advice, exec_location to) {
    EXEC_CALL(exec_advise(memory, bytes, advice, to));
}
#endif
#endif
SAME_AS(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync);

EXPORT exec_error cudaMemRangeGetAttribute(void *to, size_t room, int attribute, const void *memory,
                                           size_t bytes) {
    EXEC_CALL(exec_range_get(to, room, attribute, memory, bytes));
}
EXPORT exec_error cudaMemRangeGetAttributes(void **to, size_t *room, int *attributes, size_t n,
                                            const void *memory, size_t bytes) {
    EXEC_CALL(exec_range_get_all(to, room, attributes, n, memory, bytes));
}
