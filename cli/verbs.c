#include "cli/verbs.h"

#include <string.h>

#define BIT(flag) CLI_FLAG_BIT(flag)
#define GENERAL   (BIT(FLAG_NO_COLOR) | BIT(FLAG_HELP) | BIT(FLAG_VERSION))
#define CASES     (BIT(FLAG_SET) | BIT(FLAG_SEED) | BIT(FLAG_RANDOM))
#define REPORTS   (BIT(FLAG_JSON) | BIT(FLAG_CSV) | BIT(FLAG_JUNIT) | BIT(FLAG_MARKDOWN))

const cli_flag_entry cli_flags[CLI_FLAGS] = {
    [FLAG_DEVICE] = {"--device", "sim|cuda", "where kernels run (default: cuda if there is one)"},
    [FLAG_SEED] = {"--seed", "N", "seed of every case; of --random and fuzz, of their choice"},
    [FLAG_SET] = {"--set", "smoke|ci|nightly|edge|bench",
                  "an operator's own cases (default: smoke)"},
    [FLAG_RANDOM] = {"--random", "N", "N random cases of each operator instead"},
    [FLAG_ROWS] = {"--rows", "N", "N different rows make up each case, however large"},
    [FLAG_BIG] = {"--big", NULL, "cases of more than 2^31 elements, made up of 64 rows"},
    [FLAG_JSON] = {"--json", "FILE", "write results as JSON; - is standard output"},
    [FLAG_CSV] = {"--csv", "FILE", "write results as CSV"},
    [FLAG_JUNIT] = {"--junit", "FILE", "write results as JUnit XML"},
    [FLAG_MARKDOWN] = {"--markdown", "FILE", "write results as a Markdown table"},
    [FLAG_TRACE] = {"--trace", "FILE", "write a Chrome trace; Perfetto reads it, too"},
    [FLAG_FILE] = {"--file", "FILE", "this golden file instead of the operator's own"},
    [FLAG_IN] = {"--in", "FILE", "tensors to use in place of drawn ones, HDF5"},
    [FLAG_OUT] = {"--out", "FILE", "where the tensors go, HDF5"},
    [FLAG_NO_RUN] = {"--no-run", NULL, "only write what goes in: for another program"},
    [FLAG_KERNEL] = {"--kernel", "FILE.so", "a shared object that holds the variant named"},
    [FLAG_CERTIFY] = {"--certify", NULL, "leave a certificate for each variant that passes it all"},
    [FLAG_IN_PROCESS] = {"--in-process", NULL, "run variants in this process, with no limits"},
    [FLAG_TIME_LIMIT] = {"--time-limit", "SECONDS", "of one case of one variant (default: 60)"},
    [FLAG_MEMORY_LIMIT] = {"--memory-limit", "GIB", "of a variant's own memory (default: 8)"},
    [FLAG_ORACLES] = {"--oracles", NULL, "mutants of the oracles, judged by the suite's tests"},
    [FLAG_GOLDEN] = {"--golden", NULL, "golden files made wrong, judged by golden verify"},
    [FLAG_SAMPLE] = {"--sample", "N", "N mutants, always the same ones"},
    [FLAG_SHARD] = {"--shard", "I/N", "the I-th of N parts of them"},
    [FLAG_JOBS] = {"--jobs", "N", "processes (default: one for each processor; 4 on a GPU)"},
    [FLAG_RESUME] = {"--resume", "FILE", "go on from what this file says is done"},
    [FLAG_SURVIVORS] = {"--survivors", "FILE", "only those that survive in this CSV file"},
    [FLAG_UNDER] = {"--under", "PATH", "only files whose path begins so: kernels/common/exp"},
    [FLAG_TIME] = {"--time", "SECONDS", "how long it looks (default: 60, unless --cases is given)"},
    [FLAG_CASES] = {"--cases", "N", "how many cases it tries"},
    [FLAG_FINDINGS] = {"--findings", "FILE", "write what was found, with tensors, HDF5"},
    [FLAG_CORPUS] = {"--corpus", "DIR", "add the smallest cases found to DIR/OP.txt"},
    [FLAG_NO_GUIDE] = {"--no-guide", NULL, "draw every case afresh, breed none"},
    [FLAG_FIRST] = {"--first", NULL, "end with the first failure, when it is shrunk"},
    [FLAG_AT_LEAST] = {"--at-least", "PERCENT", "of the mutants must be killed, or it fails"},
    [FLAG_PEERS] = {"--peers", "all|none|NAME,...",
                    "what to time beside ours (default: all on cuda, none on sim)"},
    [FLAG_STAGE] = {"--stage", "forward|backward|forward+backward", "only this"},
    [FLAG_SAMPLES] = {"--samples", "N", "timed calls of each row (default: half a second's)"},
    [FLAG_REPORT] = {"--report", "DIR", "write JSON, CSV, Markdown, plots and a page there"},
    [FLAG_MERGE] = {"--merge", "FILE", "add the rows of another run's JSON"},
    [FLAG_COMPARE] = {"--compare", "FILE", "an earlier run's JSON: fails when ours are slower now"},
    [FLAG_QUIET] = {"--quiet", NULL, "only verdicts and problems"},
    [FLAG_VERBOSE] = {"--verbose", NULL, "every tensor; of bench, every step; of fuzz, its GPU"},
    [FLAG_NO_COLOR] = {"--no-color", NULL, "no colour; NO_COLOR in the environment does the same"},
    [FLAG_HELP] = {"--help", NULL, "this text"},
    [FLAG_VERSION] = {"--version", NULL, "the version"},
};

static assay_exit help(const assay_cli_args *args) {
    cli_help(args->out.stream, args->subverb != NULL ? cli_verb_find(args->subverb) : NULL);
    return ASSAY_EXIT_PASSED;
}

static const char *const golden_subverbs[] = {"generate", "verify", "list", NULL};
static const char *const certificate_subverbs[] = {"list", "verify", "show", NULL};
static const char *const verb_names[] = {"list", "check", "certificate", "golden", "run", "mutants",
                                         "fuzz", "bench", "profile",     "help",   NULL};

const cli_verb cli_verbs[CLI_VERBS] = {
    {.name = "list",
     .synopsis = "[OP...] [key=value...]",
     .summary = "operators, variants, devices; with cases named, their texts",
     .flags = GENERAL | CASES | BIT(FLAG_JSON),
     .details = "With key=value words, --set or --random, prints the cases that check would run,\n"
                "one a line.\n",
     .run = assay_cli_list},
    {.name = "check",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "proves variants against the oracle, forward and gradients",
     .flags = GENERAL | CASES | REPORTS | BIT(FLAG_DEVICE) | BIT(FLAG_QUIET) | BIT(FLAG_KERNEL) |
              BIT(FLAG_CERTIFY) | BIT(FLAG_IN_PROCESS) | BIT(FLAG_TIME_LIMIT) |
              BIT(FLAG_MEMORY_LIMIT) | BIT(FLAG_ROWS),
     .details =
         "Without key=value words it runs the cases of --set, of the operators named or of\n"
         "all.\n\n"
         "A variant runs in a process of its own: one that crashes, hangs or exhausts memory\n"
         "costs its own row. With --kernel, OP/VARIANT need not be one of assay's own.\n\n"
         "--certify runs the cases of --set and some more, drawn from a fresh secret seed\n"
         "before, and leaves certificates: assay help certificate.\n\n"
         "--rows is for cases that no oracle could hold: the kernel runs on all rows, the oracle\n"
         "on the N that they are copies of, and every row must be right.\n\n"
         "Verdicts: pass; fail, a wrong number; skip, cannot run here; mistrusted, passed\n"
         "but the case could not have told a wrong kernel; error, harness or kernel broke.\n"
         "Draws that are mistrusted, of --random or --certify, are listed and do not count.\n",
     .run = assay_cli_check},
    {.name = "certificate",
     .synopsis = "list|verify|show [OP[/VARIANT]...]",
     .summary = "what has been proven, and whether that still holds",
     .subverbs = certificate_subverbs,
     .flags = GENERAL | BIT(FLAG_DEVICE) | BIT(FLAG_KERNEL),
     .details =
         "A certificate holds while the file with the kernel's code, the programs that ran and\n"
         "judged it, the device with its driver and the set's cases are what they were. verify\n"
         "exits with 4 when one that is asked for does not, or is not there.\n"
         "They lie in $ASSAY_CERTIFICATES, otherwise in ~/.local/state/assay/certificates.\n",
     .run = assay_cli_certificate},
    {.name = "golden",
     .synopsis = "generate|verify|list [OP...] [key=value...]",
     .summary = "writes and checks golden files",
     .subverbs = golden_subverbs,
     .flags = GENERAL | BIT(FLAG_SET) | BIT(FLAG_SEED) | BIT(FLAG_FILE) | BIT(FLAG_DEVICE) |
              BIT(FLAG_QUIET) | BIT(FLAG_VERBOSE),
     .run = assay_cli_golden},
    {.name = "run",
     .synopsis = "OP/VARIANT key=value... [--in FILE] --out FILE",
     .summary = "runs a variant on one case and writes every tensor",
     .flags = GENERAL | BIT(FLAG_SEED) | BIT(FLAG_DEVICE) | BIT(FLAG_IN) | BIT(FLAG_OUT) |
              BIT(FLAG_NO_RUN) | BIT(FLAG_QUIET),
     .details =
         "It proves nothing about them: check does.\n\n"
         "The file holds /in, /cot (cotangents), /out and /grad, with a dataset for each tensor,\n"
         "called as the case calls it, in its own type; bf16 and f16 as fp32. --in takes from /in\n"
         "and /cot of such a file what is there, and the rest is drawn. From Python:\n\n"
         "  with h5py.File(\"in.h5\", \"w\", libver=\"v110\") as f:  # or \"latest\"\n"
         "      f[\"in/x\"] = x.astype(\"float32\")\n",
     .run = assay_cli_run},
    {.name = "mutants",
     .synopsis = "[OP[/VARIANT]...]",
     .summary = "judges the checks: kernels made wrong on purpose, and the checks that find them",
     .flags = GENERAL | BIT(FLAG_ORACLES) | BIT(FLAG_GOLDEN) | BIT(FLAG_SAMPLE) | BIT(FLAG_SHARD) |
              BIT(FLAG_JOBS) | BIT(FLAG_RESUME) | BIT(FLAG_SURVIVORS) | BIT(FLAG_UNDER) |
              BIT(FLAG_AT_LEAST) | BIT(FLAG_JSON) | BIT(FLAG_CSV) | BIT(FLAG_MARKDOWN) |
              BIT(FLAG_VERBOSE),
     .details =
         "Each mutant of a kernel's source is compiled for the simulated device and judged by\n"
         "all checks, cheapest first; survivors also with AddressSanitizer and the race\n"
         "recorder, where build/asan and build/race are built. It fails when one survives that\n"
         "mutants/equivalent.txt does not list. It needs the tree that assay was built\n"
         "from, and its compiler.\n",
     .run = assay_cli_mutants},
    {.name = "fuzz",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "looks for cases that variants fail, and shrinks them",
     .flags = GENERAL | BIT(FLAG_DEVICE) | BIT(FLAG_SEED) | BIT(FLAG_TIME) | BIT(FLAG_CASES) |
              BIT(FLAG_JOBS) | BIT(FLAG_SHARD) | BIT(FLAG_FINDINGS) | BIT(FLAG_CORPUS) |
              BIT(FLAG_RESUME) | BIT(FLAG_NO_GUIDE) | BIT(FLAG_FIRST) | BIT(FLAG_KERNEL) |
              BIT(FLAG_TIME_LIMIT) | BIT(FLAG_MEMORY_LIMIT) | BIT(FLAG_QUIET) | BIT(FLAG_VERBOSE) |
              BIT(FLAG_ROWS) | BIT(FLAG_BIG),
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
    {.name = "bench",
     .synopsis = "[OP[/VARIANT]...] [key=value...]",
     .summary = "times what is proven, beside peers",
     .flags = GENERAL | BIT(FLAG_DEVICE) | BIT(FLAG_SEED) | BIT(FLAG_SET) | BIT(FLAG_PEERS) |
              BIT(FLAG_STAGE) | BIT(FLAG_SAMPLES) | BIT(FLAG_REPORT) | BIT(FLAG_COMPARE) |
              BIT(FLAG_MERGE) | BIT(FLAG_RESUME) | BIT(FLAG_JSON) | BIT(FLAG_CSV) |
              BIT(FLAG_MARKDOWN) | BIT(FLAG_KERNEL) | BIT(FLAG_TIME_LIMIT) |
              BIT(FLAG_MEMORY_LIMIT) | BIT(FLAG_QUIET) | BIT(FLAG_VERBOSE),
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
    {.name = "profile",
     .synopsis = "OP/VARIANT key=value...",
     .summary = "what a proven variant does on its device: kernels, memory, time",
     .flags = GENERAL | BIT(FLAG_SEED) | BIT(FLAG_DEVICE) | BIT(FLAG_JSON) | BIT(FLAG_CSV) |
              BIT(FLAG_TRACE) | BIT(FLAG_TIME_LIMIT) | BIT(FLAG_MEMORY_LIMIT),
     .details =
         "The variant is checked at that very case first; one that does not pass is refused.\n\n"
         "On cuda: each kernel's time, occupancy and rates, as CUPTI records them in 4 calls\n"
         "after 3 that wait and 1 that warms up. On sim: sectors of each request, bank\n"
         "conflicts, barriers, which the simulation knows exactly; it needs the preset race,\n"
         "and hands over to its program where that is built beside this one.\n",
     .run = assay_cli_profile},
    {.name = "help",
     .synopsis = "[VERB]",
     .summary = "what a verb does",
     .subverbs = verb_names,
     .flags = GENERAL,
     .run = help},
};

const cli_verb *cli_verb_find(const char *name) {
    for (int i = 0; i < CLI_VERBS; ++i)
        if (strcmp(cli_verbs[i].name, name) == 0)
            return &cli_verbs[i];
    return NULL;
}

static void print_flags(FILE *to, uint64_t mask) {
    fputs("\nFlags:\n", to);
    for (int i = 0; i < CLI_FLAGS; ++i) {
        if ((mask & BIT(i)) == 0)
            continue;
        const cli_flag_entry *f = &cli_flags[i];
        const int used = fprintf(to, "  %s%s%s", f->name, f->value != NULL ? " " : "",
                                 f->value != NULL ? f->value : "");
        fprintf(to, "%*s%s\n", used < 32 ? 32 - used : 1, "", f->doc);
    }
}

void cli_help(FILE *to, const cli_verb *verb) {
    if (verb != NULL) {
        fprintf(to, "usage: assay %s %s [--flags]\n\n%s: %s.\n", verb->name, verb->synopsis,
                verb->name, verb->summary);
        if (verb->details != NULL)
            fputs(verb->details, to);
        print_flags(to, verb->flags);
    } else {
        fputs("usage: assay VERB [OP[/VARIANT]...] [key=value...] [--flags]\n\n"
              "Proves that CUDA kernels compute what they should, forward and gradients.\n\n"
              "Verbs:\n",
              to);
        for (int i = 0; i < CLI_VERBS; ++i)
            fprintf(to, "  %-12s%s\n", cli_verbs[i].name, cli_verbs[i].summary);
        fputs("\nassay help VERB tells the flags of a verb.\n", to);
    }
    fputs(
        "\nValues take lists and ranges: d=16,32,64  k=1:129:16\n"
        "Example: assay check kronecker b=16 f=32x32 layers=2 dtype=f64\n\n"
        "Exit: 0 all passed, 1 something failed or was mistrusted, 2 usage, 3 error in harness,\n"
        "file or device, 4 refused because unverified, 77 nothing could run here, 130 interrupted.\n",
        to);
}
