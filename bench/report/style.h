/* How reports look: one palette for the page and its pictures, in light and in dark. Text stands at
 * least 4.5 : 1 against its ground and shapes 3 : 1; colour is never the only sign. */
#ifndef ASSAY_BENCH_REPORT_STYLE_H
#define ASSAY_BENCH_REPORT_STYLE_H

extern const char style_colours_of_pictures[], style_colours_of_pages[];
extern const char style_pictures[], style_page[];

#endif
