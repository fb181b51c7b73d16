#include "engine/pattern.h"

#include <string.h>

static unsigned char pattern_at(size_t i) {
    static const unsigned char pattern[2] = {0xA5, 0xFF};
    return pattern[i % 2];
}

/* By doubling: the part that is there is copied behind itself. */
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

/* Where all is well, which is nearly always, each byte is the one two before it. */
size_t pattern_breaks(const unsigned char *bytes, size_t offset, size_t count) {
    size_t i = 0;
    if (count > 2 && bytes[0] == pattern_at(offset) && bytes[1] == pattern_at(offset + 1) &&
        memcmp(bytes, bytes + 2, count - 2) == 0)
        return count;
    while (i < count && bytes[i] == pattern_at(offset + i))
        ++i;
    return i;
}
