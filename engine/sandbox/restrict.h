/* Restrictions that a process puts on itself and never loses: Landlock, and a seccomp filter. */
#ifndef ASSAY_ENGINE_SANDBOX_RESTRICT_H
#define ASSAY_ENGINE_SANDBOX_RESTRICT_H

#include "engine/sandbox/visible.h"

/* The process can read all visible files and can write to devices and to the scratch folders of a
 * root of its own (`own_root`). It can open no connection, and can signal no process outside. */
bool restrict_files(const visible *v, bool own_root);

/* Refuses system calls by which native code gets out of its process, or rewrites its code. The
 * process has given up new privileges. */
bool restrict_calls(const sandbox_plan *plan);

#endif
