#include "sim/race/host.h"

#include "sim/race/shadow.h"

#include <link.h>

/* Pages that are known, by their number's low bits: constants are read again and again. */
enum { KNOWN = 256, STACK = 8 << 20, BELOW = 64 << 10 };

static struct {
    uintptr_t known[KNOWN]; /* number + 1 */
    uintptr_t frame;
} host;

void sim_host_launch(const void *frame) {
    host.frame = (uintptr_t)frame;
}

static int holds(struct dl_phdr_info *info, size_t size, void *address) {
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t low = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && (uintptr_t)address >= low &&
            (uintptr_t)address - low < segment->p_memsz)
            return 1;
    }
    return 0;
}

bool sim_is_host(const volatile void *address) {
    const uintptr_t at = (uintptr_t)address, number = at / SIM_PAGE + 1;
    uintptr_t *known = &host.known[number % KNOWN];
    if (at - (host.frame - BELOW) < STACK + BELOW || *known == number)
        return true;
    if (dl_iterate_phdr(holds, (void *)at) == 0)
        return false;
    *known = number;
    return true;
}
