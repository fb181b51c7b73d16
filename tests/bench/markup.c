#include "tests/bench/markup.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 64, NAME = 48, IDS = 2048, ID = 80 };

typedef struct reader {
    const char *at;
    char open[DEEPEST][NAME];
    int depth;
    char id[IDS][ID], link[IDS][ID];
    int ids, links;
    char *why;
} reader;

static bool wrong(reader *r, const char *what) {
    snprintf(r->why, 256, "%s at \"%.60s\"", what, r->at);
    return false;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '-' || c == ':';
}

static size_t read_name(const reader *r, char name[NAME]) {
    size_t n = 0;
    while (is_name(r->at[n]) && n + 1 < NAME)
        ++n;
    snprintf(name, NAME, "%.*s", (int)n, r->at);
    return n;
}

static bool read_entity(reader *r) {
    static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strncmp(r->at, known[i], strlen(known[i])) == 0) {
            r->at += strlen(known[i]);
            return true;
        }
    }
    return wrong(r, "no entity");
}

static bool keep(reader *r, char list[IDS][ID], int *count, const char *text, size_t length) {
    if (*count == IDS || length >= ID)
        return wrong(r, "too many ids, or too long a one");
    snprintf(list[(*count)++], ID, "%.*s", (int)length, text);
    return true;
}

/* One attribute; r->at stands at its name. */
static bool read_attribute(reader *r, char name[NAME]) {
    const size_t n = read_name(r, name);
    if (n == 0 || r->at[n] != '=' || r->at[n + 1] != '"')
        return wrong(r, "no attribute");
    r->at += n + 2;
    const char *value = r->at;
    while (*r->at != '"') {
        if (*r->at == '\0' || *r->at == '<' || (unsigned char)*r->at < ' ')
            return wrong(r, "an attribute does not end");
        if (*r->at != '&')
            ++r->at;
        else if (!read_entity(r))
            return false;
    }
    const size_t length = (size_t)(r->at++ - value);
    if (strcmp(name, "id") == 0)
        return keep(r, r->id, &r->ids, value, length);
    if (strcmp(name, "href") == 0 && value[0] != '#')
        return wrong(r, "a link that leads out of the page");
    return strcmp(name, "href") != 0 || keep(r, r->link, &r->links, value + 1, length - 1);
}

static bool read_open_tag(reader *r) {
    char name[NAME], attribute[24][NAME];
    int count = 0;
    const size_t n = read_name(r, name);
    if (n == 0 || r->depth == DEEPEST)
        return wrong(r, "no tag, or too deep");
    r->at += n;
    while (*r->at == ' ' || *r->at == '\n') {
        ++r->at;
        if (count == 24 || !read_attribute(r, attribute[count]))
            return false;
        for (int i = 0; i < count; ++i)
            if (strcmp(attribute[i], attribute[count]) == 0)
                return wrong(r, "an attribute twice");
        ++count;
    }
    const bool closed = *r->at == '/';
    r->at += closed;
    if (*r->at++ != '>')
        return wrong(r, "a tag does not end");
    if (!closed)
        memcpy(r->open[r->depth++], name, NAME);
    return true;
}

static bool read_close_tag(reader *r) {
    char name[NAME];
    const size_t n = read_name(r, name);
    if (r->depth == 0 || strcmp(r->open[r->depth - 1], name) != 0 || r->at[n] != '>')
        return wrong(r, "a tag closes what is not open");
    --r->depth;
    r->at += n + 1;
    return true;
}

static bool check_ids(reader *r) {
    for (int i = 0; i < r->ids; ++i)
        for (int j = 0; j < i; ++j)
            if (strcmp(r->id[i], r->id[j]) == 0)
                return snprintf(r->why, 256, "id %s twice", r->id[i]) < 0;
    for (int i = 0; i < r->links; ++i) {
        int j = 0;
        while (j < r->ids && strcmp(r->link[i], r->id[j]) != 0)
            ++j;
        if (j == r->ids)
            return snprintf(r->why, 256, "no id %s", r->link[i]) < 0;
    }
    return true;
}

bool markup_is_sound(const char *text, char why[256]) {
    static reader r; /* too large for a stack */
    memset(&r, 0, sizeof r);
    r.at = text;
    r.why = why;
    if (strncmp(r.at, "<!DOCTYPE html>", 15) == 0 || strncmp(r.at, "<?xml", 5) == 0)
        r.at = strchr(r.at, '>') + 1;
    while (*r.at != '\0') {
        bool sound = true;
        if (*r.at == '&')
            sound = read_entity(&r);
        else if (strncmp(r.at, "</", 2) == 0)
            r.at += 2, sound = read_close_tag(&r);
        else if (*r.at == '<')
            ++r.at, sound = read_open_tag(&r);
        else if ((unsigned char)*r.at < ' ' && *r.at != '\n')
            sound = wrong(&r, "a control character");
        else
            ++r.at;
        if (!sound)
            return false;
    }
    return r.depth == 0 ? check_ids(&r) : wrong(&r, "a tag is still open");
}

int markup_csv_record(char **next, char *field[], int most) {
    char *from = *next, *to = *next;
    for (int count = 0; count < most;) {
        field[count++] = to;
        const bool quoted = *from == '"';
        from += quoted;
        while (quoted ? *from != '\0' && (*from != '"' || from[1] == '"')
                      : *from != '\0' && strchr(",\"\r\n", *from) == NULL) {
            from += quoted && *from == '"';
            *to++ = *from++;
        }
        if (quoted && *from++ != '"')
            return -1;
        const char end = *from;
        *to++ = '\0';
        if (end == '\r' && from[1] == '\n') {
            *next = from + 2;
            return count;
        }
        if (end != ',')
            return -1;
        ++from;
    }
    return -1;
}
