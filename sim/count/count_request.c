/*
 * The cost of a request, by the CUDA C++ Best Practices Guide. Global memory: as many sectors of 32
 * bytes as its lanes touch. Shared memory: 32 banks, each 4 bytes wide; lanes are served 32, 16 or
 * 8 at a time where they ask for up to 4, 8 or 16 bytes, and words of one bank one after the other,
 * but the same word for all lanes at once.
 */
#include "sim/count/count_request.h"

enum { SECTOR = 32, WORD = 4, BANKS = 32, MOST = SIM_WARP * (SIM_WIDEST / WORD + 1) };

/* Numbers, each once, in ascending order. */
typedef struct numbers {
    uintptr_t number[MOST];
    int32_t n;
} numbers;

static void insert(numbers *set, uintptr_t number) {
    int32_t at = set->n;
    while (at > 0 && set->number[at - 1] > number)
        --at;
    if (at > 0 && set->number[at - 1] == number)
        return;
    for (int32_t i = set->n++; i > at; --i)
        set->number[i] = set->number[i - 1];
    set->number[at] = number;
}

/* The units of `size` bytes that lanes first..last-1 touch. */
static numbers units(const sim_request *r, int32_t first, int32_t last, uintptr_t size) {
    numbers set = {.n = 0};
    for (int32_t l = first; l < last; ++l)
        if (r->lanes >> l & 1)
            for (uintptr_t u = r->address[l] / size; u <= (r->address[l] + r->bytes[l] - 1) / size;
                 ++u)
                insert(&set, u);
    return set;
}

static int32_t widest(const sim_request *r) {
    int32_t bytes = 0;
    for (int32_t l = 0; l < SIM_WARP; ++l)
        if ((r->lanes >> l & 1) && r->bytes[l] > bytes)
            bytes = r->bytes[l];
    return bytes;
}

uint64_t sim_request_repeats(const sim_request *r) {
    uint64_t most = 0;
    for (int32_t l = 0; l < SIM_WARP; ++l) {
        uint64_t before = 0;
        for (int32_t other = 0; other < l; ++other)
            before += (r->lanes >> l & 1) && (r->lanes >> other & 1) &&
                      r->address[other] == r->address[l];
        most = before > most ? before : most;
    }
    return most;
}

static void add_common(const sim_request *r, sim_requests *sum) {
    ++sum->requests;
    sum->partial += r->lanes != UINT32_MAX;
    sum->lanes += (uint64_t)__builtin_popcount(r->lanes);
    for (int32_t l = 0; l < SIM_WARP; ++l)
        sum->bytes += (r->lanes >> l & 1) ? r->bytes[l] : 0;
}

/* Bytes that any lane asks for. */
static uint64_t distinct(const sim_request *r) {
    int32_t order[SIM_WARP], n = 0;
    for (int32_t l = 0; l < SIM_WARP; ++l) {
        int32_t at = n;
        if ((r->lanes >> l & 1) == 0)
            continue;
        for (; at > 0 && r->address[order[at - 1]] > r->address[l]; --at)
            order[at] = order[at - 1];
        order[at] = l;
        ++n;
    }
    uint64_t bytes = 0;
    uintptr_t end = 0;
    for (int32_t i = 0; i < n; ++i) {
        const uintptr_t low = r->address[order[i]], high = low + r->bytes[order[i]];
        const uintptr_t from = low > end ? low : end;
        bytes += high > from ? high - from : 0;
        end = high > end ? high : end;
    }
    return bytes;
}

void sim_request_global(const sim_request *r, sim_requests *sum) {
    add_common(r, sum);
    sum->steps += (uint64_t)units(r, 0, SIM_WARP, SECTOR).n;
    sum->ideal += (distinct(r) + SECTOR - 1) / SECTOR;
}

/* Of lanes first..last-1: the words of the bank that has most of them; 0 when no lane takes part.
 */
static uint64_t passes(const sim_request *r, int32_t first, int32_t last) {
    const numbers words = units(r, first, last, WORD);
    uint8_t of_bank[BANKS] = {0}, most = 0;
    for (int32_t i = 0; i < words.n; ++i) {
        uint8_t *bank = &of_bank[words.number[i] % BANKS];
        ++*bank;
        most = *bank > most ? *bank : most;
    }
    return most;
}

void sim_request_shared(const sim_request *r, sim_requests *sum) {
    const int32_t bytes = widest(r);
    const int32_t together = bytes <= WORD ? SIM_WARP : SIM_WARP * WORD / bytes;
    add_common(r, sum);
    for (int32_t first = 0; first < SIM_WARP; first += together) {
        const uint64_t steps = passes(r, first, first + together);
        sum->steps += steps;
        sum->ideal += steps > 0;
    }
}
