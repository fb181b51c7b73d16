/*
 * Child processes, for all that start any: one way to start them, to ask them, to limit them, to
 * end them and to learn how they ended. A child is always reaped, with all of its process group.
 *
 * A message is some bytes and, on a socket, perhaps an open file. Its meaning is defined by the
 * protocol of the two programs (frame.h; docs/bench.md).
 */
#ifndef ASSAY_ENGINE_PROCESS_H
#define ASSAY_ENGINE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How a child talks with its parent. Its other descriptors are closed, or /dev/null. */
typedef enum process_talk {
    PROCESS_SILENT,   /* not at all; `file` is its output */
    PROCESS_LINES,    /* through its standard input and output; `file` is its descriptor 3 */
    PROCESS_MESSAGES, /* through a socket that keeps messages apart, its descriptor 3 */
} process_talk;
enum { PROCESS_CHANNEL = 3, PROCESS_SAID = 8192, PROCESS_LINE = 320 };

/* How a child ended. */
typedef enum process_end {
    PROCESS_NOT_ENDED,
    PROCESS_EXIT,    /* by itself, with an exit code */
    PROCESS_CRASH,   /* by a signal */
    PROCESS_HANG,    /* stopped: no answer within the limit */
    PROCESS_MEMORY,  /* stopped: more memory than the limit */
    PROCESS_DEAF,    /* stopped: it takes no requests */
    PROCESS_STOPPED, /* stopped for another reason, its parent's */
} process_end;

typedef struct process {
    pid_t pid;               /* 0: no child, or it has ended */
    process_end end;         /* of the last one */
    int code;                /* the exit code, or the signal */
    double limit;            /* that it passed: seconds, or bytes */
    int to, from;            /* the same for PROCESS_MESSAGES */
    int output;              /* a pipe: its output beside its answers; -1: that goes elsewhere */
    bool borrowed;           /* another process's child, see process_borrow() */
    char said[PROCESS_SAID]; /* of that, since it was asked: the beginning and the end */
    size_t said_bytes;
} process;

typedef struct process_limits {
    double seconds;               /* wall clock of one answer; INFINITY: no limit */
    double bytes;                 /* of resident memory; INFINITY: no limit */
    bool (*go_on)(void *context); /* asked while it waits: false stops the child; NULL: never */
    void *context;
} process_limits;

/* ---- the parent's side ---- */

/* Starts a program, in a process group of its own, with no signal blocked or ignored; argv[0] is
 * looked for on PATH unless it has a slash. Returns 0, or an errno: then no process runs. */
int process_start(process *p, char *const argv[], process_talk talk, int file);

/* The same with a copy of this process, which calls `work` and ends when that returns. It ends with
 * its parent, and an interrupt from the keyboard is left to the parent. */
int process_fork(process *p, void (*work)(int channel, void *context), void *context);

/* Sends bytes, with an open file unless it is -1. What the child said before is forgotten. false:
 * the child takes no bytes, and has ended: p->end says how. */
bool process_send(process *p, const void *bytes, size_t count, int file);

/* Waits for bytes, or a message. 0: the child has ended, p->end says how. */
size_t process_read(process *p, const process_limits *limits, void *bytes, size_t size);

/* Waits until it has ended. */
void process_finish(process *p, const process_limits *limits);

/* From now on it is the process `pid`, another child of this one; the process that it was before is
 * ended. */
void process_moved(process *p, pid_t pid);

/* Both ends of a socket that keeps messages apart, as PROCESS_MESSAGES has. Returns 0, or an
 * errno. */
int process_channel(int *ours, int *theirs);

/* A child of another process, one that several processes ask, each through a channel of its own;
 * `pid` cannot be another's as long as its parent has not waited for it. It has ended when it
 * closes the channel. process_stop() closes the channel alone; a child that passes a limit is ended
 * for all who ask it. */
void process_borrow(process *p, pid_t pid, int channel);

/* Takes what it printed, so that a child that others ask does not wait for room. */
void process_hear(process *p);

/* Ends it with all of its group; does nothing when there is no child. */
void process_stop(process *p);

/* How it ended, in words that follow "its process": "ended by signal 11 (Segmentation fault)". */
const char *process_how(const process *p, char line[PROCESS_LINE]);

/* ---- the child's side ---- */

/* It ends with its parent, and leaves no core. */
void process_settle(void);

/* One message, with a file unless that is -1 or `file` is NULL. */
bool channel_send(int channel, const void *bytes, size_t count, int file);
ssize_t channel_receive(int channel, void *bytes, size_t size, int *file);

#endif
