#include "sim/race/place.h"

#include "sim/count/count_access.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 8192 }; /* a power of two */

typedef struct source_line {
    const char *file; /* NULL: free */
    int line;
} source_line;

struct sim_addresses sim_addresses;

/* A place is 0, a site, a line or an address, in this order. */
static struct {
    const sim_site *sites;
    size_t n_sites;
    size_t n_lines, n_addresses;
    source_line lines[LINES];
} places;

/* What names places is told when a launch ends, but for counts. A table that is nearly full would
 * be searched from end to end at every access. */
void sim_places_begin(const sim_site *sites, size_t n) {
    places.sites = sites;
    places.n_sites = n;
    sim_addresses.first = (uint32_t)(n + 1 + LINES);
    if (sim_count_on() || (places.n_lines < LINES / 2 && places.n_addresses < SIM_ADDRESSES / 2))
        return;
    memset(places.lines, 0, sizeof places.lines);
    memset(sim_addresses.slot, 0, sizeof sim_addresses.slot);
    places.n_lines = places.n_addresses = 0;
}

uint32_t sim_place_of_line(const char *file, int number) {
    if (!file || number <= 0)
        return 0;
    const uint64_t key = (uintptr_t)file + (unsigned)number;
    const size_t first = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (size_t i = first; i < first + LINES; ++i) {
        source_line *l = &places.lines[i % LINES];
        if (!l->file) {
            *l = (source_line){file, number};
            ++places.n_lines;
        }
        if (l->line == number && l->file == file)
            return (uint32_t)(places.n_sites + 1 + i % LINES);
    }
    return 0;
}

uint32_t sim_place_search(uintptr_t address) {
    const size_t first = address >> SIM_ADDRESS_SHIFT;
    for (size_t i = first; i < first + SIM_ADDRESSES; ++i) {
        uintptr_t *slot = &sim_addresses.slot[i % SIM_ADDRESSES];
        if (*slot == 0) {
            *slot = address;
            ++places.n_addresses;
        }
        if (*slot == address)
            return sim_addresses.first + (uint32_t)(i % SIM_ADDRESSES);
    }
    return 0;
}

static sim_source source_of_line(const char *file, int line) {
    sim_source source = {.line = line};
    const char *slash = strrchr(file, '/');
    snprintf(source.file, sizeof source.file, "%.*s", SIM_SYMBOL_TEXT - 1,
             slash ? slash + 1 : file);
    return source;
}

/* The line of a place that is neither 0 nor an address. */
static source_line line_of(uint32_t place) {
    if (place > places.n_sites)
        return places.lines[(place - places.n_sites - 1) % LINES];
    const sim_site *site = &places.sites[place - 1];
    return (source_line){site->file, site->line};
}

sim_source sim_place_source(uint32_t place) {
    if (place == 0)
        return (sim_source){.file = "?", .line = 0};
    if (place >= sim_addresses.first)
        return sim_symbol_source(sim_addresses.slot[(place - sim_addresses.first) % SIM_ADDRESSES]);
    const source_line l = line_of(place);
    return l.file ? source_of_line(l.file, l.line) : (sim_source){.file = "?", .line = 0};
}

const char *sim_place_path(uint32_t place) {
    if (place == 0 || place >= sim_addresses.first)
        return "";
    const source_line l = line_of(place);
    return l.file ? l.file : "";
}
