#include "core/parallel.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

/* Below SMALLEST elements a thread costs more than it saves. */
enum { MOST_THREADS = 32, SMALLEST = 1 << 17 };

typedef struct piece {
    void (*body)(void *context, int64_t first, int64_t last);
    void *context;
    int64_t first, last;
} piece;

static void *run(void *argument) {
    const piece *p = argument;
    p->body(p->context, p->first, p->last);
    return NULL;
}

static void run_on(int64_t n, int64_t count,
                   void (*body)(void *context, int64_t first, int64_t last), void *context) {
    pthread_t thread[MOST_THREADS];
    piece pieces[MOST_THREADS];
    bool started[MOST_THREADS];
    for (int64_t i = 0; i < n; ++i) {
        pieces[i] = (piece){body, context, count / n * i, i + 1 < n ? count / n * (i + 1) : count};
        started[i] = pthread_create(&thread[i], NULL, run, &pieces[i]) == 0;
        if (!started[i]) /* the system gives no more threads */
            (void)run(&pieces[i]);
    }
    for (int64_t i = 0; i < n; ++i)
        if (started[i])
            (void)pthread_join(thread[i], NULL);
}

/* On as many threads as there are processors, but not on more than `useful` ones. */
static void spread(int64_t useful, int64_t count,
                   void (*body)(void *context, int64_t first, int64_t last), void *context) {
    int64_t n = 1;
    if (useful > 1) { /* to ask how many processors there are takes longer */
        const int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
        const int64_t most = processors < MOST_THREADS ? processors : MOST_THREADS;
        n = useful < most ? useful : most;
    }
    if (n < 2)
        body(context, 0, count);
    else
        run_on(n, count, body, context);
}

void assay_parallel(int64_t count, void (*body)(void *context, int64_t first, int64_t last),
                    void *context) {
    spread(count / SMALLEST, count, body, context);
}

void assay_parallel_pieces(int64_t count, void (*body)(void *context, int64_t first, int64_t last),
                           void *context) {
    spread(count, count, body, context);
}
