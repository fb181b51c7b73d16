/* Pictures as SVG, to stand in a page or in a file of their own. Colours are classes of
 * bench/report/style.h, so that both are readable in light and dark. */
#ifndef ASSAY_BENCH_REPORT_SVG_H
#define ASSAY_BENCH_REPORT_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* Users' units are pixels where a picture is shown at its own size: as wide as a phone leaves room
 * for, so that no text shrinks there. */
enum { SVG_WIDTH = 360, SVG_LINE = 15 /* of text */ };

typedef struct svg {
    FILE *to;
    bool alone; /* a file of its own */
} svg;

/* `id` is unique in its page; the description says the same in words. */
void svg_open(const svg *s, const char *id, const char *title, const char *description,
              double height);
void svg_close(const svg *s);

typedef enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END } svg_anchor;

void svg_text(const svg *s, double x, double y, svg_anchor anchor, const char *class,
              const char *text);
void svg_line(const svg *s, double x1, double y1, double x2, double y2, const char *class);

/* `tip` shows under the pointer. */
void svg_rect(const svg *s, double x, double y, double width, double height, const char *class,
              const char *tip);

/* One of SVG_MARKS shapes around a point, so that arms differ by more than colour. 0: a disc. */
enum { SVG_MARKS = 7 };
void svg_mark(const svg *s, int shape, double x, double y, const char *class, const char *tip);

/* Arms without a time. `id`: that of svg_open. */
void svg_hatched(const svg *s, const char *id, double x, double y, double width, double height);

/* How wide a text is, about, and the part of it that fits, with an ellipsis where that is not all.
 */
#define SVG_LETTER 6.5
enum { SVG_FITTED = 128 };
double svg_text_width(const char *text);
const char *svg_fit(const char *text, double width, char out[SVG_FITTED]);

#endif
