#include "cli/verbs.h"

#include <string.h>

static const char *const golden_subverbs[] = {"generate", "verify", "list",
                                              "export",   "import", NULL};
static const char *const certificate_subverbs[] = {"list", "verify", "show", NULL};
static const char *const completion_subverbs[] = {"bash", "zsh", "fish", NULL};

const cli_verb cli_verbs[CLI_VERBS] = {
    {.bit = CLI_LIST,
     .name = "list",
     .synopsis = "[OP...] [key=value...]",
     .summary = "lists operators, variants, devices, or the cases that check would "
                "run",
     .details = "With key=value words, --set or --random, prints the cases that check would run,\n"
                "one a line.\n",
     .run = assay_cli_list},
    {.bit = CLI_CHECK,
     .name = "check",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "compares variants with the oracle, forward and gradients",
     .details =
         "Without key=value words it runs the cases of --set, of the operators named or of\n"
         "all. With no words at all, and an assay.toml in this folder, it judges the kernels that\n"
         "are listed there: docs/ci.md.\n\n"
         "Each variant runs in a process of its own, so a crash, a hang or too much memory is an\n"
         "error of that variant alone. With --kernel, OP/VARIANT need not be one of assay's own.\n\n"
         "FILE of --kernel is a source, which is compiled first, or a shared object. It is written\n"
         "for assay (ASSAY_VARIANT), or has functions that --binding or comments in the source\n"
         "describe, or has those of tvm-ffi: docs/own-kernel.md. FILE.py:FUNCTION is a Python\n"
         "function, run by $ASSAY_PYTHON (default: python3): docs/python.md.\n\n"
         "--reference FILE.py takes a right Python function in place of an operator, with its\n"
         "inputs, and derives the tolerances: docs/reference.md.\n\n"
         "--operator FILE adds an operator of your own: assay help new. Its backward is compared\n"
         "with the derivative of its forward first.\n\n"
         "--certify runs the cases of --set and some more, drawn from a new secret seed, and\n"
         "writes certificates: assay help certificate.\n\n"
         "--rows is for cases that are too large for the oracle: the kernel runs on all rows, the\n"
         "oracle on the N rows that they are copies of, and every row must be right.\n\n"
         "--stage forward checks outputs alone, --layout packed only tensors without padding; the\n"
         "verdicts, reports and certificates say so.\n\n"
         "--jobs changes neither the results nor their order. --last-failed runs the cases that\n"
         "did not pass in the last check. Their list is ~/.local/state/assay/last-failed, or\n"
         "assay/last-failed in $XDG_STATE_HOME.\n\n"
         "Verdicts:\n"
         "  pass        every number is within its bound\n"
         "  fail        a number is wrong\n"
         "  skip        the variant cannot run this case here\n"
         "  mistrusted  it passed, but a wrong kernel would have passed as well\n"
         "  error       the kernel or the harness broke\n"
         "Random cases (--random, --certify) that are mistrusted are listed and do not count; nor\n"
         "do cases with exponent=, where results may vanish or the definition may end.\n"
         "Every case of --set edge is expected to be mistrusted: it is empty or trivial.\n",
     .run = assay_cli_check},
    {.bit = CLI_NEW,
     .name = "new",
     .synopsis = "OP/NAME | operator NAME",
     .summary = "writes a kernel file, or an operator of your own, to begin with",
     .details =
         "OP/NAME: the operator's v1 in one file, naive and right. operator NAME: a folder with an\n"
         "oracle in C, its bounds and cases, and a kernel; docs/add-an-operator.md goes on from\n"
         "there. The next commands are printed. --out names another file or folder.\n",
     .run = assay_cli_new},
    {.bit = CLI_BUILD,
     .name = "build",
     .synopsis = "FILE.cu [--out FILE.so]",
     .summary = "compiles a kernel file for the device at hand",
     .details =
         "By c++ for the simulated device, by nvcc for a GPU; $CXX and $CXXFLAGS, $NVCC and\n"
         "$NVCCFLAGS are used, and the command is printed. check --kernel FILE.cu does the same\n"
         "before it checks.\n",
     .run = assay_cli_build},
    {.bit = CLI_CERTIFICATE,
     .name = "certificate",
     .synopsis = "list|verify|show [OP[/VARIANT]...]",
     .summary = "lists, verifies and shows the certificates of passed checks",
     .subverbs = certificate_subverbs,
     .details =
         "A certificate holds as long as the file with the kernel's code, the programs that ran\n"
         "and checked it, the device with its driver, and the set's cases do not change. verify\n"
         "exits with 4 when a certificate does not hold or is missing.\n"
         "They are in $ASSAY_CERTIFICATES, otherwise in ~/.local/state/assay/certificates.\n",
     .run = assay_cli_certificate},
    {.bit = CLI_GOLDEN,
     .name = "golden",
     .synopsis = "generate|verify|list|export|import [OP...] [key=value...]",
     .summary = "writes and checks golden files",
     .subverbs = golden_subverbs,
     .details =
         "A golden file holds inputs and results that another program computed.\n\n"
         "  list      the cases of a file\n"
         "  verify    compares the oracle and the variants with them\n"
         "  generate  adds a case with the oracle's own results: these show a change, not an error\n"
         "  export    writes a case to --out, as .npz, .safetensors or HDF5\n"
         "  import    adds a case from such a file, --got\n",
     .run = assay_cli_golden},
    {.bit = CLI_RUN,
     .name = "run",
     .synopsis = "OP/VARIANT key=value... [--in FILE] --out FILE",
     .summary = "runs a variant on one case and writes every tensor",
     .details =
         "It compares nothing: assay check does.\n\n"
         "The file holds /in, /cot (cotangents), /out and /grad, with a dataset for each tensor\n"
         "under its name and in its type; bf16 and f16 are stored as fp32. If its name ends in\n"
         ".npz or .safetensors, it has that format, and tensors in/x, cot/y, out/y, grad/x. --in\n"
         "reads the tensors that /in and /cot of such a file have; the others are random. From\n"
         "Python:\n\n"
         "  with h5py.File(\"in.h5\", \"w\", libver=\"v110\") as f:  # or \"latest\"\n"
         "      f[\"in/x\"] = x.astype(\"float32\")\n",
     .run = assay_cli_run},
    {.bit = CLI_JUDGE,
     .name = "judge",
     .synopsis = "OP key=value... --got FILE [--in FILE]",
     .summary = "compares the answers of any program with the oracle",
     .details =
         "Three commands, of which the second is yours:\n\n"
         "  assay run rmsnorm n=64 d=768 --no-run --out in.npz\n"
         "  python mine.py in.npz out.npz\n"
         "  assay judge rmsnorm n=64 d=768 --got out.npz\n\n"
         "FILE is HDF5, .npz or .safetensors and holds out/TENSOR for each output and grad/TENSOR\n"
         "for each input with a gradient; --stage forward leaves gradients out. Where the case's\n"
         "inputs were replaced, --in names the file that run and the program were given.\n",
     .run = assay_cli_judge},
    {.bit = CLI_MUTANTS,
     .name = "mutants",
     .synopsis = "[OP[/VARIANT]...]",
     .summary = "tests the checks: makes kernels wrong on purpose and counts how "
                "many are found",
     .details =
         "Each mutant of a kernel's source is compiled for the simulated device and checked,\n"
         "cheapest check first; survivors also with the race recorder, and with AddressSanitizer\n"
         "where build/asan is built. The exit code is 1 when a mutant survives that\n"
         "mutants/equivalent.txt does not list. It needs the sources that assay was built from,\n"
         "and its compiler.\n",
     .run = assay_cli_mutants},
    {.bit = CLI_FUZZ,
     .name = "fuzz",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "searches for cases on which variants fail, and shrinks them",
     .details =
         "It makes random cases, and variations of those that showed something new. key=value\n"
         "words hold for all cases; for key=a,b,c each case takes one of the values. Words with\n"
         "seed= name the cases themselves: then only these are checked, with every relation.\n\n"
         "Each failure is shrunk to the smallest case that fails in the same way, and printed with\n"
         "the command that shows it again. One seed gives the same cases for any --jobs. --resume\n"
         "saves the campaign's state in FILE and continues from it. Under mpirun each rank takes\n"
         "its share; --findings, in a folder that all ranks see, gets the failures of all ranks.\n\n"
         "--big needs a GPU with some 70 GiB of memory and uses one process; --rows checks cases\n"
         "of any size in the same way.\n",
     .run = assay_cli_fuzz},
    {.bit = CLI_BENCH,
     .name = "bench",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "times variants that are proven right, beside other libraries",
     .details =
         "An operator alone stands for its published experiment, --set seeds for all of them.\n\n"
         "A variant is timed when a certificate holds or when it passes its smoke set now, and when\n"
         "its results at the timed shape are right, before and after. Otherwise its row says\n"
         "refused, and the exit code is 4. Peers are compared with the same oracle; without\n"
         "Python, PyTorch or Triton their rows say so.\n\n"
         "--resume FILE keeps the rows in FILE, and leaves out cases that have rows there. Without\n"
         "an operator it times nothing, and prints or writes the rows of FILE. --merge FILE adds\n"
         "the rows of another run, for example on a second GPU; its cases replace earlier ones.\n"
         "--compare exits with 1 when a row of assay's own is slower beyond noise.\n",
     .run = assay_cli_bench},
    {.bit = CLI_PROFILE,
     .name = "profile",
     .synopsis = "OP/VARIANT key=value...",
     .summary = "shows a proven variant's kernels, memory traffic and time",
     .details =
         "The variant is checked on that case first; if it does not pass, it is refused.\n\n"
         "On cuda: each kernel's time, occupancy and rates, as CUPTI records them in 4 calls\n"
         "after 3 that wait and 1 that warms up. On sim: sectors of each request, bank\n"
         "conflicts and barriers, counted exactly, by the program assay_recorded, whose kernels\n"
         "tell of their accesses.\n",
     .run = assay_cli_profile},
    {.bit = CLI_EXEC,
     .name = "exec",
     .synopsis = "-- PROGRAM [WORD...]",
     .summary = "runs a CUDA program, as nvcc built it, on the simulated device",
     .details =
         "No GPU is needed. The program's kernels run from the PTX that it holds, and CUDA's\n"
         "libraries are replaced for it: see docs/exec.md. Problems are printed to standard error\n"
         "when they happen, and counted at the end: kernels that break a rule, copies outside of an\n"
         "allocation, errors that the program did not look at, memory that it did not free.\n\n"
         "--launches is for the loops of benchmarks. It names kernels as their source does, or *\n"
         "for all. Times of events are those of the simulation.\n",
     .exits =
         "the program's own code, or 128 and the number of the signal that ended it; 2 usage,\n"
         "125 trouble of assay itself, 126 the program cannot run so, 127 there is no such\n"
         "program.\n",
     .run = assay_cli_exec},
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
