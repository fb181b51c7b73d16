/* The files that a process in the sandbox can see: a list, as data. */
#ifndef ASSAY_ENGINE_SANDBOX_VISIBLE_H
#define ASSAY_ENGINE_SANDBOX_VISIBLE_H

#include "engine/sandbox/sandbox.h"

typedef enum visible_use {
    VISIBLE_READ,   /* files and folders */
    VISIBLE_DEVICE, /* device nodes, which are written as well */
    VISIBLE_WRITE,  /* files that are written as well: /proc alone */
} visible_use;

enum { VISIBLE_MOST = 256 };

/* Absolute paths that exist, each once. */
typedef struct visible {
    char *path[VISIBLE_MOST];
    visible_use use[VISIBLE_MOST];
    int count;
    bool compiles; /* files of the scratch folders may be run */
    bool driver;   /* a real device's: NVIDIA's names its threads, by files of /proc/self/task */
} visible;

void visible_init(visible *v, const sandbox_plan *plan);
void visible_clear(visible *v);

/* A new root with these alone, and an empty /tmp and /dev/shm. The process needs a mount namespace
 * of its own. false: it has no such namespace, or the system refuses a step; then no code may rely
 * on which files are visible. `own_proc`: it is in a process namespace. */
bool visible_mount(const visible *v, bool own_proc);

#endif
