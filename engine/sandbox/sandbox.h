/*
 * The walls around a process that runs native code which may be hostile. It puts them up itself,
 * before it opens a device or loads a kernel. Walls that the system does not allow are left out,
 * and the process tells its parent which walls stand.
 */
#ifndef ASSAY_ENGINE_SANDBOX_H
#define ASSAY_ENGINE_SANDBOX_H

#include <limits.h>
#include <stdbool.h>

typedef enum sandbox_wall {
    WALL_USER,       /* a user of its own: a namespace, or, of root, user `nobody` */
    WALL_PID,        /* it sees no process but its own, and these end with it */
    WALL_MOUNT,      /* it sees the files of visible.h, and cannot write to them */
    WALL_NETWORK,    /* it has no network */
    WALL_IPC,        /* nor System V's and POSIX's objects of others */
    WALL_LANDLOCK,   /* the same of files and signals, by the kernel's other means */
    WALL_SECCOMP,    /* the system calls of filter.c are refused */
    WALL_PRIVILEGES, /* it has no capability, and gets none */
    WALL_LIMITS,     /* sizes of files, cores, queues */
} sandbox_wall;
enum { SANDBOX_WALLS = 9, SANDBOX_TEXT = 128 };

/* A set of walls: 1u << sandbox_wall. */
typedef unsigned sandbox_walls;

/* "user pid mount network ipc landlock seccomp privileges limits"; "none". */
const char *sandbox_text(sandbox_walls walls, char text[SANDBOX_TEXT]);
/* The set of that text; words that name no wall are left out. */
sandbox_walls sandbox_of_text(const char *text);

/* The walls that a sandbox must have to be called one: all but Landlock, because other walls do the
 * same. */
sandbox_walls sandbox_required(void);

enum { SANDBOX_FILES = 64 };
typedef struct sandbox_plan {
    bool simulated; /* no driver needs anything */
    bool may_start; /* it starts programs, as the race recorder does for its lines */
    bool compiles;  /* it makes code while it runs, as compilers of Python's do */
    bool alone;     /* whether a process namespace may be made: see sandbox_enter() */
    const char *file[SANDBOX_FILES]; /* that it must read beside those of visible.h, then NULL */
} sandbox_plan;

/*
 * Puts them up. A process namespace needs a new process: where `alone`, this one forks, the copy
 * returns from here, as a child of the same parent, and `moved` is told its number, in this one,
 * which must not return and waits for the parent to end it.
 */
sandbox_walls sandbox_enter(const sandbox_plan *plan, void (*moved)(int pid));

/* For a program that reads text which may be hostile, as a compiler does: in this process, of which
 * a copy goes on, `file` is empty from now on. false: the system does not allow it. */
bool sandbox_conceal(const char *file);

/* The judge's own side: no process of the same user may look into its memory. */
void sandbox_hide(void);

#endif
