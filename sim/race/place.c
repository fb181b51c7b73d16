#include "sim/race/place.h"

#include "sim/count/count_access.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 8192 }; /* a power of two */

/* `file` is NULL: `at` is an address; otherwise a line. */
typedef struct slot {
    const char *file;
    uintptr_t at;
} slot;

static struct {
    const sim_site *sites;
    size_t n_sites;
    size_t n; /* slots in use */
    slot slot[SLOTS];
} places;

/* What names places is told when a launch ends, but for counts. A table that is nearly full would
 * be searched from end to end at every access. */
void sim_places_begin(const sim_site *sites, size_t n) {
    places.sites = sites;
    places.n_sites = n;
    if (places.n < SLOTS / 2 || sim_count_on())
        return;
    memset(places.slot, 0, sizeof places.slot);
    places.n = 0;
}

static uint32_t place_of(const char *file, uintptr_t at) {
    const size_t first = (size_t)(((uintptr_t)file + at) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (size_t i = 0; i < SLOTS; ++i) {
        slot *s = &places.slot[(first + i) % SLOTS];
        if (s->at == 0) {
            *s = (slot){file, at};
            ++places.n;
        }
        if (s->at == at && s->file == file)
            return (uint32_t)(places.n_sites + 1 + (first + i) % SLOTS);
    }
    return 0;
}

uint32_t sim_place_of_line(const char *file, int line) {
    return file && line > 0 ? place_of(file, (uintptr_t)line) : 0;
}

uint32_t sim_place_of_address(uintptr_t address) {
    return place_of(NULL, address);
}

static sim_source source_of_line(const char *file, int line) {
    sim_source source = {.line = line};
    const char *slash = strrchr(file, '/');
    snprintf(source.file, sizeof source.file, "%.*s", SIM_SYMBOL_TEXT - 1,
             slash ? slash + 1 : file);
    return source;
}

sim_source sim_place_source(uint32_t place) {
    const slot *s =
        place > places.n_sites ? &places.slot[(place - places.n_sites - 1) % SLOTS] : NULL;
    if (place == 0)
        return (sim_source){.file = "?", .line = 0};
    if (!s)
        return source_of_line(places.sites[place - 1].file, places.sites[place - 1].line);
    if (!s->file)
        return sim_symbol_source(s->at);
    return source_of_line(s->file ? s->file : "?", (int)s->at);
}

const char *sim_place_path(uint32_t place) {
    if (place == 0)
        return "";
    if (place <= places.n_sites)
        return places.sites[place - 1].file;
    const slot *s = &places.slot[(place - places.n_sites - 1) % SLOTS];
    return s->file ? s->file : "";
}
