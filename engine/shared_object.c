#include "engine/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The loader's words without the name that the file has in memory. */
static const char *without_name(const char *why) {
    const char *colon = strncmp(why, "/proc/self/fd/", 14) == 0 ? strstr(why, ": ") : NULL;
    return colon ? colon + 2 : why;
}

const char *shared_object_load(const char *paths, void **object) {
    char path[PATH_MAX];
    *object = NULL;
    for (const char *at = paths; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s", (int)length, at);
        *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!*object)
            return without_name(dlerror());
        at += length + (at[length] == ':');
    }
    return *object ? NULL : "no file is named";
}
