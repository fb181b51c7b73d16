/* Which GPU a process uses, by its environment. */
#include "device/choose.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>

enum { VARIABLES = 6 };

/* The environment and the machine of the choice that is tested. */
static const char *const *names_and_values;
static int32_t machine_gpus, times_asked;

static const char *variable(const char *name) {
    for (int i = 0; i < VARIABLES && names_and_values[i]; i += 2)
        if (strcmp(names_and_values[i], name) == 0)
            return names_and_values[i + 1];
    return NULL;
}

static int32_t gpus(void) {
    ++times_asked;
    return machine_gpus;
}

typedef struct choice {
    const char *environment[VARIABLES]; /* name, value, name, value ... */
    int32_t gpus;
    const char *list; /* NULL: stays as it is */
} choice;

static void expect(const choice *c) {
    const assay_gpu_host host = {variable, gpus};
    char list[ASSAY_GPU_LIST];
    names_and_values = c->environment;
    machine_gpus = c->gpus;
    times_asked = 0;
    const char *chosen = assay_gpu_choose(&host, list);
    CHECK_STREQ(chosen ? chosen : "as it is", c->list ? c->list : "as it is");
}

#define LIST   "CUDA_VISIBLE_DEVICES"
#define OMPI   "OMPI_COMM_WORLD_LOCAL_RANK"
#define SLURM  "SLURM_LOCALID"
#define GROUPS "CTEST_RESOURCE_GROUP_COUNT", "1", "CTEST_RESOURCE_GROUP_0_GPUS"

ASSAY_TEST(choose, nothing_where_nobody_asks, "unit sim") {
    expect(&(choice){{NULL}, 8, NULL});
    CHECK(times_asked == 0);
    expect(&(choice){{LIST, "2,3"}, 8, NULL});
    expect(&(choice){{LIST, ""}, 8, NULL});
    expect(&(choice){{"CTEST_RESOURCE_GROUP_0_GPUS", "id:1,slots:1"}, 8, NULL});
}

ASSAY_TEST(choose, a_rank_takes_its_entry_of_the_list, "unit sim") {
    expect(&(choice){{LIST, "2,3", OMPI, "0"}, 8, "2"});
    expect(&(choice){{LIST, "2,3", OMPI, "1"}, 8, "3"});
    expect(&(choice){{LIST, "2,3", OMPI, "4"}, 8, "2"});
    expect(&(choice){{LIST, "5", OMPI, "3"}, 8, "5"});
    expect(&(choice){{LIST, "GPU-8932f937-d72c,MIG-7ad4", "MPI_LOCALRANKID", "1"}, 8, "MIG-7ad4"});
    CHECK(times_asked == 0);
    /* CUDA reads no further than an entry that is none. */
    expect(&(choice){{LIST, "4,-1,6", OMPI, "1"}, 8, "4"});
    expect(&(choice){{LIST, "-1", OMPI, "1"}, 8, NULL});
    expect(&(choice){{LIST, "", OMPI, "1"}, 8, NULL});
}

ASSAY_TEST(choose, a_rank_takes_its_number_without_a_list, "unit sim") {
    expect(&(choice){{OMPI, "5"}, 8, "5"});
    expect(&(choice){{"PMI_LOCAL_RANK", "5"}, 4, "1"});
    expect(&(choice){{SLURM, "1"}, 2, "1"});
    /* Where GPUs cannot be counted, or there is only one, the choice is left to CUDA. */
    expect(&(choice){{SLURM, "1"}, 1, NULL});
    expect(&(choice){{SLURM, "1"}, 0, NULL});
}

ASSAY_TEST(choose, mpirun_is_heard_before_slurm, "unit sim") {
    expect(&(choice){{SLURM, "0", OMPI, "3"}, 4, "3"});
    expect(&(choice){{SLURM, "2", OMPI, "-1"}, 4, "2"});
    expect(&(choice){{SLURM, "2", OMPI, "x"}, 4, "2"});
    expect(&(choice){{SLURM, "2", OMPI, ""}, 4, "2"});
}

ASSAY_TEST(choose, ctest_is_heard_before_all, "unit sim") {
    expect(&(choice){{GROUPS, "id:1,slots:1"}, 2, "1"});
    expect(&(choice){{GROUPS, "id:3,slots:1;id:0,slots:1", OMPI, "1"}, 4, "3"});
    expect(&(choice){{GROUPS, "id:1,slots:1", LIST, "0"}, 2, "1"});
    expect(&(choice){{GROUPS, "id:,slots:1", OMPI, "1"}, 2, "1"});
    expect(&(choice){{GROUPS, "slots:1"}, 2, NULL});
}

/* A process inherits the choice with all that led to it, and chooses again. */
ASSAY_TEST(choose, a_second_choice_is_the_first, "unit sim") {
    expect(&(choice){{SLURM, "5", LIST, "5"}, 8, "5"});
    expect(&(choice){{GROUPS, "id:1,slots:1", LIST, "1"}, 8, "1"});
}

ASSAY_TEST(choose, an_entry_that_is_too_long_is_left_alone, "unit sim") {
    char entry[2 * ASSAY_GPU_LIST];
    memset(entry, 'x', sizeof entry - 1);
    entry[sizeof entry - 1] = '\0';
    expect(&(choice){{LIST, entry, OMPI, "0"}, 8, NULL});
    entry[ASSAY_GPU_LIST - 1] = '\0';
    expect(&(choice){{LIST, entry, OMPI, "0"}, 8, entry});
}
