/*
 * Which problems are known and not to be told. A rule a line, `#` begins a comment:
 *
 *     KIND [PATTERN]
 *
 * The kind is one of report.h's, or *. The pattern, with * and ? as a shell has them, must be all
 * of one of: the kernel's name, mangled or without namespaces and arguments; FILE:LINE, with or
 * without the file's folders; the message.
 */
#ifndef ASSAY_SIM_EXEC_SUPPRESS_H
#define ASSAY_SIM_EXEC_SUPPRESS_H

#include "sim/exec/report.h"

/* The text of the rules. */
#define EXEC_SUPPRESS_VARIABLE "ASSAY_EXEC_SUPPRESS"
enum { SUPPRESS_TEXT = 1 << 16, SUPPRESS_RULE = 1024 };

/* ASSAY_ERR_USAGE: a line of the file `name` is no rule. */
assay_status exec_suppress_check(const char *name, const char *text) ASSAY_MUST_CHECK;

/* The line, from 1 on, of the first rule that fits; 0: no rule fits. */
int32_t exec_suppress_find(const char *text, const report_problem *problem);

/* The rule in that line, without its comment; "": there is none, or no such line. Returns whether
 * there is such a line. */
bool exec_suppress_rule(const char *text, int32_t line, char rule[SUPPRESS_RULE]);

#endif
