/* --kernel FILE.py:FUNCTION: a Python function, called in the interpreter's own process
 * (engine/python.h). */
#ifndef ASSAY_CLI_PYTHON_H
#define ASSAY_CLI_PYTHON_H

#include "cli/cli.h"

/* FILE.py, FILE.py:FUNCTION, FILE.py:FUNCTION,BACKWARD */
bool cli_python_is(const char *kernel);

/* $ASSAY_PYTHON, or python3. */
const char *cli_python_interpreter(void);

/* The file and the functions' names; of a file alone, the operator's name. A function without a
 * backward narrows args->scope, which is said. ASSAY_ERR_USAGE: it has no such function. */
assay_status cli_python_prepare(assay_cli_args *args) ASSAY_MUST_CHECK;

#endif
