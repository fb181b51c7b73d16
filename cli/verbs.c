#include "cli/verbs.h"

#include <string.h>

static const char *const golden_subverbs[] = {"generate", "verify", "list", NULL};
static const char *const certificate_subverbs[] = {"list", "verify", "show", NULL};
static const char *const completion_subverbs[] = {"bash", "zsh", "fish", NULL};

const cli_verb cli_verbs[CLI_VERBS] = {
    {.bit = CLI_LIST,
     .name = "list",
     .synopsis = "[OP...] [key=value...]",
     .summary = "operators, variants, devices; with cases named, their texts",
     .details = "With key=value words, --set or --random, prints the cases that check would run,\n"
                "one a line.\n",
     .run = assay_cli_list},
    {.bit = CLI_CHECK,
     .name = "check",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "proves variants against the oracle, forward and gradients",
     .details =
         "Without key=value words it runs the cases of --set, of the operators named or of\n"
         "all.\n\n"
         "A variant runs in a process of its own: one that crashes, hangs or exhausts memory\n"
         "costs its own row. With --kernel, OP/VARIANT need not be one of assay's own.\n\n"
         "--certify runs the cases of --set and some more, drawn from a fresh secret seed,\n"
         "and leaves certificates: assay help certificate.\n\n"
         "--rows is for cases that no oracle could hold: the kernel runs on all rows, the oracle\n"
         "on the N that they are copies of, and every row must be right.\n\n"
         "--jobs changes neither the results nor their order. --last-failed runs what was no pass\n"
         "in the last check: it is kept in ~/.local/state/assay/last-failed, or in the folder\n"
         "assay of $XDG_STATE_HOME.\n\n"
         "Verdicts: pass; fail, a wrong number; skip, cannot run here; mistrusted, passed\n"
         "but the case could not have told a wrong kernel; error, harness or kernel broke.\n"
         "Draws that are mistrusted, of --random or --certify, are listed and do not count.\n"
         "Each case of --set edge must be mistrusted: an empty or trivial one proves no number.\n",
     .run = assay_cli_check},
    {.bit = CLI_CERTIFICATE,
     .name = "certificate",
     .synopsis = "list|verify|show [OP[/VARIANT]...]",
     .summary = "what has been proven, and whether that still holds",
     .subverbs = certificate_subverbs,
     .details =
         "A certificate holds while the file with the kernel's code, the programs that ran and\n"
         "judged it, the device with its driver and the set's cases are what they were. verify\n"
         "exits with 4 when one that is asked for does not, or is not there.\n"
         "They lie in $ASSAY_CERTIFICATES, otherwise in ~/.local/state/assay/certificates.\n",
     .run = assay_cli_certificate},
    {.bit = CLI_GOLDEN,
     .name = "golden",
     .synopsis = "generate|verify|list [OP...] [key=value...]",
     .summary = "writes and checks golden files",
     .subverbs = golden_subverbs,
     .run = assay_cli_golden},
    {.bit = CLI_RUN,
     .name = "run",
     .synopsis = "OP/VARIANT key=value... [--in FILE] --out FILE",
     .summary = "runs a variant on one case and writes every tensor",
     .details =
         "It proves nothing about them: check does.\n\n"
         "The file holds /in, /cot (cotangents), /out and /grad, with a dataset for each tensor,\n"
         "called as the case calls it, in its own type; bf16 and f16 as fp32. --in takes from /in\n"
         "and /cot of such a file what is there, and the rest is drawn. From Python:\n\n"
         "  with h5py.File(\"in.h5\", \"w\", libver=\"v110\") as f:  # or \"latest\"\n"
         "      f[\"in/x\"] = x.astype(\"float32\")\n",
     .run = assay_cli_run},
    {.bit = CLI_MUTANTS,
     .name = "mutants",
     .synopsis = "[OP[/VARIANT]...]",
     .summary = "judges the checks: kernels made wrong on purpose, and the checks that find them",
     .details =
         "Each mutant of a kernel's source is compiled for the simulated device and judged by\n"
         "all checks, cheapest first; survivors also with AddressSanitizer and the race\n"
         "recorder, where build/asan and build/race are built. It fails when one survives that\n"
         "mutants/equivalent.txt does not list. It needs the tree that assay was built\n"
         "from, and its compiler.\n",
     .run = assay_cli_mutants},
    {.bit = CLI_FUZZ,
     .name = "fuzz",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "looks for cases that variants fail, and shrinks them",
     .details =
         "Cases are drawn and, where they bring something new, bred; key=value words hold for\n"
         "all of them, and of key=a,b,c one value for each. Words with seed= name cases\n"
         "themselves: those are judged, by every relation as well, and none is drawn.\n\n"
         "Each failure is shrunk to the smallest case that fails alike, and printed with the\n"
         "command that shows it again. One seed gives the same cases whatever --jobs says.\n"
         "--resume keeps the campaign in FILE and goes on from it. Under mpirun each rank takes\n"
         "its share, and --findings, in a folder that all ranks see, gets what all found.\n\n"
         "--big needs the GPU's memory, some 70 GiB, and takes one process; --rows judges cases\n"
         "of any size in the same way.\n",
     .run = assay_cli_fuzz},
    {.bit = CLI_BENCH,
     .name = "bench",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "times what is proven, beside peers",
     .details =
         "An operator alone stands for the published experiment with it, --set seeds for all of\n"
         "those.\n\n"
         "A variant is timed when a certificate says that it is right, or when it passes its\n"
         "smoke set now, and when its answers at the very shape are right, before and after.\n"
         "Otherwise its row says REFUSED, and the exit code is 4. Peers are held to the same\n"
         "oracle; without Python, PyTorch or Triton their rows say so.\n\n"
         "--resume FILE keeps the rows in FILE, and leaves out cases whose rows it has already.\n"
         "Without an operator it times nothing and shows, or writes, what FILE has.\n"
         "--merge FILE adds what another run found, on a second GPU say; its cases replace ours.\n"
         "--compare exits with 1 when a row of ours is slower beyond noise.\n",
     .run = assay_cli_bench},
    {.bit = CLI_PROFILE,
     .name = "profile",
     .synopsis = "OP/VARIANT key=value...",
     .summary = "what a proven variant does on its device: kernels, memory, time",
     .details =
         "The variant is checked at that very case first; one that does not pass is refused.\n\n"
         "On cuda: each kernel's time, occupancy and rates, as CUPTI records them in 4 calls\n"
         "after 3 that wait and 1 that warms up. On sim: sectors of each request, bank\n"
         "conflicts, barriers, which the simulation knows exactly; it needs the preset race,\n"
         "and hands over to its program where that is built beside this one.\n",
     .run = assay_cli_profile},
    {.bit = CLI_COMPLETION,
     .name = "completion",
     .synopsis = "bash|zsh|fish",
     .summary = "prints the completion script of a shell",
     .subverbs = completion_subverbs,
     .details =
         "For bash: source <(assay completion bash). For zsh, save it as _assay in a folder of\n"
         "$fpath; for fish, as ~/.config/fish/completions/assay.fish.\n",
     .run = assay_cli_completion},
    {.bit = CLI_HELP,
     .name = "help",
     .synopsis = "[VERB | OP | KEY]",
     .summary = "explains a verb, an operator, or a key of a case's text",
     .details =
         "KEY is any key that a case may have: fill, pad, misalign, sched, dtype, math, seed, or\n"
         "one of an operator's own. --man prints the manual page of assay or of a verb.\n",
     .run = assay_cli_help},
};

const cli_verb *cli_verb_find(const char *name) {
    for (int i = 0; i < CLI_VERBS; ++i)
        if (strcmp(cli_verbs[i].name, name) == 0)
            return &cli_verbs[i];
    return NULL;
}
