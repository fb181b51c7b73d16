/*
 * A program of its own: all 2^32 inputs of each function against an H200's checksums. Minutes.
 *   cc -O2 -I. tests/sim/sfu_all.c tests/sim/sfu.c sim/sfu/sfu.c sim/sfu/tables.c -lm -lpthread -o
 * sfu_all
 */
#include "tests/sim/sfu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { PARTS = 512, MOST = 256 };

static const sfu_checksum *now;
static _Atomic uint32_t next;
static _Atomic uint64_t sum;

static void *work(void *unused) {
    for (uint32_t part; (part = next++) < PARTS;)
        sum += sfu_of_part(now, part);
    return unused;
}

int main(void) {
    pthread_t threads[MOST];
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int n = cores < 1 ? 1 : cores > MOST ? MOST : (int)cores;
    int wrong = 0;
    for (int32_t i = 0; i < n_sfu_checksums; ++i) {
        now = &sfu_checksums[i];
        next = 0;
        sum = 0;
        int started = 0;
        while (started < n - 1 && pthread_create(&threads[started], NULL, work, NULL) == 0)
            ++started;
        work(NULL);
        while (started > 0)
            pthread_join(threads[--started], NULL);
        const bool same = sum == now->all;
        wrong += !same;
        printf("%-24s all 2^32 %s\n", now->instruction, same ? "are an H200's" : "DIFFER");
        fflush(stdout);
    }
    return wrong != 0;
}
