#include "engine/sandbox/restrict.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights by their bits: the header of this system may be older than its kernel. */
enum {
    READ = 1 << 0 | 1 << 2 | 1 << 3, /* execute, read a file, read a folder */
    WRITE = 1 << 1,
    ALL_1 = (1 << 13) - 1,
    REFER = 1 << 13,    /* since version 2 */
    TRUNCATE = 1 << 14, /* since version 3 */
    OF_A_FILE = 1 << 0 | 1 << 1 | 1 << 2 | TRUNCATE,
    BIND_AND_CONNECT = 3,             /* since version 4 */
    SIGNALS_AND_ABSTRACT_SOCKETS = 3, /* since version 6 */
};

typedef struct ruleset {
    uint64_t files, network, scoped;
} ruleset;

static bool allow(int rules, const char *path, uint64_t rights) {
    const int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return true; /* it is not there: nothing to allow */
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = place};
    long result = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    if (result != 0) { /* no folder: only some rights have a meaning */
        rule.allowed_access = rights & OF_A_FILE;
        result = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    close(place);
    return result == 0;
}

bool restrict_files(const visible *v, bool own_root) {
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (version < 1)
        return false;
    const uint64_t all =
        ALL_1 | (version >= 2 ? REFER : 0u) | (version >= 3 ? (uint64_t)TRUNCATE : 0u);
    const ruleset r = {.files = all,
                       .network = version >= 4 ? BIND_AND_CONNECT : 0,
                       .scoped = version >= 6 ? SIGNALS_AND_ABSTRACT_SOCKETS : 0};
    const size_t size = version >= 6   ? sizeof r
                        : version >= 4 ? 2 * sizeof r.files
                                       : sizeof r.files;
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (rules < 0)
        return false;
    bool good = allow(rules, "/proc", v->driver ? (READ | WRITE | TRUNCATE) & all : READ);
    for (int i = 0; good && i < v->count; ++i)
        good = allow(rules, v->path[i], v->use[i] == VISIBLE_DEVICE ? READ | WRITE : READ);
    const uint64_t scratch = v->compiles ? all : all & ~(uint64_t)1;
    if (own_root)
        good = good && allow(rules, "/tmp", scratch) && allow(rules, "/dev/shm", scratch);
    good = good && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return good;
}
