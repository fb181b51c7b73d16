#include "engine/pattern.h"

#include <string.h>

static unsigned char pattern_at(size_t i) {
    static const unsigned char pattern[2] = {0xA5, 0xFF};
    return pattern[i % 2];
}

/* By doubling: what is there is copied behind itself. */
void pattern_fill(unsigned char *bytes, size_t from, size_t to) {
    size_t done = from;
    for (; done < to && done < from + 2; ++done)
        bytes[done] = pattern_at(done);
    while (done < to) {
        const size_t there = done - from, more = to - done < there ? to - done : there;
        memcpy(bytes + done, bytes + from, more);
        done += more;
    }
}

size_t pattern_breaks(const unsigned char *bytes, size_t offset, size_t count) {
    size_t i = 0;
    while (i < count && bytes[i] == pattern_at(offset + i))
        ++i;
    return i;
}
