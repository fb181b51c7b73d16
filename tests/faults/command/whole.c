#include "tests/faults/command/whole.h"

#include <string.h>

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* One object, every bracket closed by its own kind, and nothing behind it but a line's end. */
static bool whole_json(const char *text) {
    char open[64];
    size_t depth = 0;
    bool quoted = false;
    const char *c = text;
    for (; *c != '\0' && (c == text || depth > 0); ++c) {
        if (quoted) {
            c += *c == '\\' && c[1] != '\0';
            quoted = *c != '"';
        } else if (*c == '{' || *c == '[') {
            if (depth == sizeof open)
                return false;
            open[depth++] = *c;
        } else if (*c == '}' || *c == ']') {
            if (depth == 0 || open[--depth] != (*c == '}' ? '{' : '['))
                return false;
        } else {
            quoted = *c == '"';
        }
    }
    return text[0] == '{' && depth == 0 && strcmp(c, "\n") == 0;
}

/* Rows of as many fields as the first has; quotes are doubled within quotes. */
static bool whole_csv(const char *text) {
    int commas = 0, first = -1;
    bool quoted = false;
    for (const char *c = text; *c != '\0'; ++c) {
        quoted = quoted != (*c == '"');
        commas += *c == ',' && !quoted;
        if (*c != '\n' || quoted)
            continue;
        if (first >= 0 && commas != first)
            return false;
        first = commas;
        commas = 0;
    }
    return first > 0 && !quoted && ends_with(text, "\n");
}

static bool whole_xml(const char *text) {
    return strncmp(text, "<?xml", 5) == 0 && ends_with(text, "</testsuites>\n");
}

/* Its last line is that of a table, or of the summary. */
static bool whole_markdown(const char *text) {
    return text[0] != '\0' && ends_with(text, "\n");
}

/* Its last line is a seal of 64 digits. */
static bool is_sealed(const char *text) {
    const char *seal = strstr(text, "\nseal ");
    return seal != NULL && strlen(seal) == strlen("\nseal \n") + 64 && ends_with(text, "\n");
}

static bool whole_certificate(const char *text) {
    return strncmp(text, "assay-certificate 2\n", 20) == 0 && is_sealed(text);
}

static bool whole_campaign(const char *text) {
    return strncmp(text, "assay fuzz state 1\n", 19) == 0 && is_sealed(text);
}

/* Its superblock, of version 2 or 3, says that it is not open for writing, and how long it is. */
static bool whole_findings(const file_bytes *bytes) {
    enum { VERSION = 8, OFFSETS = 9, FLAGS = 11, END = 28 };
    uint64_t size;
    if (bytes->size < END + sizeof size || memcmp(bytes->data, "\x89HDF\r\n\x1a\n", VERSION) != 0)
        return false;
    memcpy(&size, bytes->data + END, sizeof size);
    return bytes->data[VERSION] >= 2 && bytes->data[OFFSETS] == sizeof size &&
           bytes->data[FLAGS] == 0 && size == bytes->size;
}

static bool is_findings(const char *file) {
    return ends_with(file, "findings.h5");
}

bool is_campaign(const char *file) {
    return ends_with(file, ".state");
}

/* Of "settled CASES SECONDS" the seconds differ, and with them the seal. */
bool campaigns_equal(const file_bytes *a, const file_bytes *b) {
    const char *x = (const char *)a->data, *y = (const char *)b->data;
    if (x == NULL || y == NULL || !whole_campaign(x) || !whole_campaign(y))
        return false;
    while (strncmp(x, "seal ", 5) != 0 && strncmp(y, "seal ", 5) != 0) {
        const size_t m = strcspn(x, "\n"), n = strcspn(y, "\n");
        const bool settled = strncmp(x, "settled ", 8) == 0;
        const size_t length = settled ? 9 + strcspn(x + 8, " ") : m;
        if ((!settled && m != n) || length > n || memcmp(x, y, length) != 0)
            return false;
        x += m + 1;
        y += n + 1;
    }
    return strncmp(x, "seal ", 5) == 0 && strncmp(y, "seal ", 5) == 0;
}

bool is_report(const char *file) {
    return ends_with(file, ".json") || ends_with(file, ".csv") || ends_with(file, ".xml") ||
           ends_with(file, ".md") || ends_with(file, ".cert") || is_campaign(file) ||
           is_findings(file);
}

bool report_is_whole(const char *file, const file_bytes *bytes) {
    const char *text = (const char *)bytes->data;
    if (is_findings(file))
        return whole_findings(bytes);
    if (strlen(text) != bytes->size)
        return false;
    if (ends_with(file, ".json"))
        return whole_json(text);
    if (ends_with(file, ".cert"))
        return whole_certificate(text);
    if (is_campaign(file))
        return whole_campaign(text);
    if (ends_with(file, ".csv"))
        return whole_csv(text);
    return ends_with(file, ".xml") ? whole_xml(text) : whole_markdown(text);
}
