/* Starting a program with the files that it is to find open, and nothing else. */
#ifndef ASSAY_ENGINE_PROCESS_H
#define ASSAY_ENGINE_PROCESS_H

#include <sys/types.h>

/* Descriptors 0 to 3 of the new process; -1: /dev/null for reading, or not open (3). */
enum { PROCESS_FILES = 4 };

/* In a process group of its own, with no signal blocked or ignored. argv[0] is looked for on PATH
 * unless it has a slash. Returns 0, or an errno; *pid is set only with 0. */
int process_start(pid_t *pid, char *const argv[], const int file[PROCESS_FILES]);

/* Ends it with all of its group, and waits for it. */
void process_end(pid_t pid);

#endif
