#include "bench/report/svg.h"

#include "bench/report/escape.h"
#include "bench/report/style.h"
#include "core/utf8.h"

#include <string.h>

static void put_title(const svg *s, const char *text) {
    if (text == NULL || text[0] == '\0')
        return;
    fputs("<title>", s->to);
    escape_markup(s->to, text);
    fputs("</title>", s->to);
}

/* Lines of at most that many letters, broken at blanks. Draws them where `y` is not NULL; returns
 * their number. */
static int put_lines(const svg *s, const char *text, const char *class, double *y) {
    enum { LETTERS = 58 };
    int lines = 0;
    while (*text != '\0') {
        char line[LETTERS + 1];
        size_t n = strlen(text);
        for (size_t end = n; n > LETTERS; n = end)
            for (end = n - 1; end > LETTERS / 2 && text[end] != ' '; --end)
                ;
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        if (y != NULL)
            svg_text(s, 0, *y += SVG_LINE, SVG_START, class, line);
        text += n + (text[n] == ' ');
        ++lines;
    }
    return lines;
}

static void put_head(const svg *s, const char *title, const char *description, double height) {
    const int lines = put_lines(s, title, "", NULL) + put_lines(s, description, "", NULL);
    const double head = (lines + 1.5) * SVG_LINE;
    fprintf(s->to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" "
            "viewBox=\"-12 %.0f %d %.0f\"",
            -head, SVG_WIDTH + 24, height + head + 8);
}

/* A file of its own has no page around it that says what it is. */
static void put_heading(const svg *s, const char *title, const char *description) {
    const int lines = put_lines(s, title, "", NULL) + put_lines(s, description, "", NULL);
    double y = -(lines + 1) * SVG_LINE;
    fprintf(s->to,
            "<style>%s%s</style><rect class=\"paper\" x=\"-50%%\" y=\"-50%%\" width=\"200%%\" "
            "height=\"200%%\"/>\n",
            style_colours_of_pictures, style_pictures);
    put_lines(s, title, "strong", &y);
    put_lines(s, description, "quiet", &y);
}

void svg_open(const svg *s, const char *id, const char *title, const char *description,
              double height) {
    FILE *to = s->to;
    if (s->alone)
        put_head(s, title, description, height);
    else
        fprintf(to, "<svg viewBox=\"0 0 %d %.0f\"", SVG_WIDTH, height);
    fprintf(to, " class=\"plot\" role=\"img\" aria-labelledby=\"%s-title %s-text\">", id, id);
    fprintf(to, "<title id=\"%s-title\">", id);
    escape_markup(to, title);
    fprintf(to, "</title><desc id=\"%s-text\">", id);
    escape_markup(to, description);
    fputs("</desc>\n", to);
    if (s->alone)
        put_heading(s, title, description);
    fprintf(to,
            "<defs><pattern id=\"%s-hatch\" width=\"5\" height=\"5\" "
            "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
            "<rect class=\"hatch\" width=\"1.6\" height=\"5\"/></pattern></defs>\n",
            id);
}

void svg_close(const svg *s) {
    fputs("</svg>\n", s->to);
}

void svg_text(const svg *s, double x, double y, svg_anchor anchor, const char *class,
              const char *text) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fprintf(s->to, "<text x=\"%.1f\" y=\"%.1f\"%s class=\"%s\">", x, y, anchors[anchor], class);
    escape_markup(s->to, text);
    fputs("</text>\n", s->to);
}

void svg_line(const svg *s, double x1, double y1, double x2, double y2, const char *class) {
    fprintf(s->to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x1, y1,
            x2, y2, class);
}

void svg_rect(const svg *s, double x, double y, double width, double height, const char *class,
              const char *tip) {
    fprintf(s->to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\">", x, y,
            width > 0 ? width : 0, height, class);
    put_title(s, tip);
    fputs("</rect>\n", s->to);
}

/* Around the origin, about as large as a disc of radius 3.5. */
static const char *const marks[SVG_MARKS] = {
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
    "M-3.2-3.2h6.4v6.4h-6.4z",
    "M0-4.4L4.2 3.1H-4.2z",
    "M0-4.6L4.6 0L0 4.6L-4.6 0z",
    "M0 4.4L4.2-3.1H-4.2z",
    "M-3.6-1.3h2.3v-2.3h2.6v2.3h2.3v2.6h-2.3v2.3h-2.6v-2.3h-2.3z",
    "M-4.2-2h8.4v4h-8.4z",
};

void svg_mark(const svg *s, int shape, double x, double y, const char *class, const char *tip) {
    fprintf(s->to, "<path transform=\"translate(%.1f %.1f)\" d=\"%s\" class=\"%s\">", x, y,
            marks[shape % SVG_MARKS], class);
    put_title(s, tip);
    fputs("</path>\n", s->to);
}

void svg_hatched(const svg *s, const char *id, double x, double y, double width, double height) {
    fprintf(s->to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"stub\" "
            "fill=\"url(#%s-hatch)\"/>\n",
            x, y, width, height, id);
}

double svg_text_width(const char *text) {
    size_t letters = 0;
    for (; *text != '\0'; ++text)
        letters += (*text & 0xC0) != 0x80;
    return SVG_LETTER * (double)letters;
}

const char *svg_fit(const char *text, double width, char out[SVG_FITTED]) {
    const size_t most = (size_t)(width / SVG_LETTER);
    const char *end = text;
    size_t letters = 0;
    for (const char *next = text; *next != '\0' && letters < most; ++letters) {
        utf8_next(&next);
        end = next;
    }
    const bool whole = *end == '\0' && (size_t)(end - text) < SVG_FITTED;
    size_t bytes = (size_t)(end - text);
    bytes = bytes < SVG_FITTED - 4 ? bytes : SVG_FITTED - 4;
    snprintf(out, SVG_FITTED, "%.*s%s", (int)bytes, text, whole ? "" : "\u2026");
    return out;
}
