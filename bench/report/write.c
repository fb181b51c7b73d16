/* A report's files. */
#include "bench/report/report.h"
#include "bench/report/writers.h"
#include "bench/results_json.h"
#include "core/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

assay_status report_init(report *r, const bench_results *results) {
    assay_status status;
    *r = (report){.v = {.results = results}};
    if ((status = view_init(&r->v, results)) != ASSAY_OK)
        return status;
    if ((status = plots_init(&r->plots, &r->v)) != ASSAY_OK ||
        (status = missing_init(&r->missing, &r->v, MISSING_TIME)) != ASSAY_OK ||
        (status = missing_init(&r->uncompared, &r->v, MISSING_COMPARISON)) != ASSAY_OK)
        report_clear(r);
    return status;
}

void report_clear(report *r) {
    missing_clear(&r->uncompared);
    missing_clear(&r->missing);
    plots_clear(&r->plots);
    view_clear(&r->v);
}

/* ---- one file ---- */

/* What a file holds: a format of the whole report, or one of its pictures. */
typedef struct content {
    void (*write)(FILE *to, const report *r); /* NULL: JSON, or `picture` */
    const plot *picture;
} content;

static assay_status write_content(FILE *to, const report *r, const content *what) {
    if (what->picture != NULL) {
        const svg alone = {to, true};
        plot_draw(what->picture, &alone);
        return ASSAY_OK;
    }
    if (what->write == NULL)
        return bench_results_write(to, r->v.results);
    what->write(to, r);
    return ASSAY_OK;
}

static assay_status write_file(const char *directory, const char *name, const report *r,
                               const content *what) {
    cli_sink sink;
    char *path = NULL;
    assay_status status;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the name of %s", name);
    if ((status = sink_open(&sink, path)) == ASSAY_OK) {
        if ((status = write_content(sink.stream, r, what)) == ASSAY_OK)
            status = sink_commit(&sink);
        else
            sink_discard(&sink);
    }
    free(path);
    return status;
}

/* ---- all of them ---- */

static assay_status make_directory(const char *directory) {
    struct stat info;
    if (mkdir(directory, 0777) == 0 || (stat(directory, &info) == 0 && S_ISDIR(info.st_mode)))
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: no report can be written there: %s", directory,
                      strerror(errno));
}

static assay_status write_pictures(const char *directory, const report *r) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < r->plots.count && status == ASSAY_OK; ++i) {
        const content what = {.picture = &r->plots.item[i]};
        char name[PLOT_ID + 8];
        snprintf(name, sizeof name, "%s.svg", r->plots.item[i].id);
        status = write_file(directory, name, r, &what);
    }
    return status;
}

/* The page comes last: where it is, the rest is. */
assay_status bench_report_write(const bench_results *results, const char *directory) {
    static const content json = {0}, csv = {report_csv, NULL}, markdown = {report_markdown, NULL},
                         page = {report_html, NULL};
    report r;
    assay_status status = make_directory(directory);
    if (status != ASSAY_OK || (status = report_init(&r, results)) != ASSAY_OK)
        return status;
    if ((status = write_file(directory, "results.json", &r, &json)) == ASSAY_OK &&
        (status = write_file(directory, "results.csv", &r, &csv)) == ASSAY_OK &&
        (status = write_file(directory, "results.md", &r, &markdown)) == ASSAY_OK &&
        (status = write_pictures(directory, &r)) == ASSAY_OK)
        status = write_file(directory, "index.html", &r, &page);
    report_clear(&r);
    return status;
}
