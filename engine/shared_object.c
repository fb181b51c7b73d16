#include "engine/shared_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The loader's words without the path, which is a descriptor's. */
static const char *words_of(const char *error, const char *path) {
    const size_t length = strlen(path);
    return strncmp(error, path, length) == 0 && strncmp(error + length, ": ", 2) == 0
               ? error + length + 2
               : error;
}

const char *shared_object_load(const char *paths, void **object) {
    char path[PATH_MAX];
    *object = NULL;
    for (const char *at = paths; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s", (int)length, at);
        *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!*object)
            return words_of(dlerror(), path);
        at += length + (at[length] == ':');
    }
    return *object ? NULL : "no file is named";
}
