/* AddressSanitizer, where the build has it: poisoning, and lines about the kernel in its reports.
 */
#ifndef ASSAY_SIM_ASAN_H
#define ASSAY_SIM_ASAN_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif

/* Makes bytes trap on access (on) or usable again (off); nothing without AddressSanitizer. */
void sim_poison(void *memory, size_t bytes, bool on);

/* Sets every byte to 0xFF, poisoned ones too: a NaN in every floating-point type, -1 in every
 * integer, so that memory which a kernel forgot to write shows in its result. */
void sim_fill(void *memory, size_t bytes);

#endif
