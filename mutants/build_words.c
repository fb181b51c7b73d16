#include "mutants/build_words.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 1024 };

bool build_is_launcher(const char *word) {
    char copy[PATH_SIZE];
    snprintf(copy, sizeof copy, "%s", word);
    const char *name = basename(copy);
    return strcmp(name, "ccache") == 0 || strcmp(name, "sccache") == 0;
}

bool build_keeps(const char *word, build_level level) {
    if (strncmp(word, "-W", 2) == 0 && strncmp(word, "-Wl,", 4) != 0)
        return false;
    if (strncmp(word, "-O", 2) == 0)
        return level == BUILD_FULL;
    return strncmp(word, "-g", 2) != 0 || level == BUILD_ASAN || level == BUILD_RACE;
}
