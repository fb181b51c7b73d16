/* Which words of the build's own commands mutants are compiled with. */
#ifndef ASSAY_MUTANTS_BUILD_WORDS_H
#define ASSAY_MUTANTS_BUILD_WORDS_H

#include "mutants/build.h"
#include "mutants/command.h"

/* A template that never ends would keep the compiler for as long as there is memory. */
enum { BUILD_SECONDS = 300 };

/* A word before the compiler's own: ccache. */
bool build_is_launcher(const char *word);

/* Warnings do not matter here. A quick build chooses its own optimisation; only reports of
 * instrumented builds need lines, by which one program would look like two. */
bool build_keeps(const char *word, build_level level);

#endif
