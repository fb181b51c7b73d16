/* Rows of mutants: checked rows are kept, so that a run can be cut into shards and taken up again.
 * The fields that are read again come first and need no quotes. */
#include "cli/mutants.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void put_field(FILE *to, const char *text) {
    fputs(",\"", to);
    for (; *text != '\0'; ++text) {
        if (*text == '"')
            putc('"', to);
        putc(*text == '\n' || *text == '\r' ? ' ' : *text, to);
    }
    putc('"', to);
}

void mutants_csv_head(FILE *to) {
    fputs("key,outcome,layer,variant,seconds,line,occurrence,file,rule,before,after,by,reason\r\n",
          to);
}

void mutants_csv_row(FILE *to, const mutant_row *row) {
    const mutant *m = row->mutant;
    const mutant_result *r = &row->result;
    fprintf(to, "%016" PRIx64 ",%s,%s,%s,%.3f,%d,%d", m->key, mutant_outcome_name(r->outcome),
            mutant_layer_name(r->layer), r->variant[0] ? r->variant : "-", r->seconds,
            (int)m->change.line, (int)m->occurrence);
    put_field(to, m->file->path);
    put_field(to, m->change.rule);
    put_field(to, m->before);
    put_field(to, m->after);
    put_field(to, r->by);
    put_field(to, r->reason);
    fputs("\r\n", to);
}

static mutant_row *find(mutant_rows *rows, uint64_t key) {
    for (int32_t i = 0; i < rows->count; ++i)
        if (rows->row[i].wanted && rows->row[i].mutant->key == key)
            return &rows->row[i];
    return NULL;
}

/* A row of a mutant that is no more, the kernel having changed, or is not asked for, says nothing;
 * nor does one of which nothing was learnt. */
static void take_row(const char *line, mutant_rows *rows) {
    uint64_t key;
    char outcome[16], layer[16];
    mutant_result r = {0};
    if (sscanf(line, "%" SCNx64 ",%15[^,],%15[^,],%63[^,],%lf", &key, outcome, layer, r.variant,
               &r.seconds) != 5)
        return;
    r.outcome = mutant_outcome_find(outcome);
    r.layer = mutant_layer_find(layer);
    mutant_row *row = find(rows, key);
    if (!row || r.outcome >= MUTANT_BROKEN || (int)r.layer >= MUTANT_LAYERS)
        return;
    if (strcmp(r.variant, "-") == 0)
        r.variant[0] = '\0';
    row->result = r;
}

assay_status mutants_csv_read(const char *path, mutant_rows *rows) {
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file))
        take_row(line, rows);
    fclose(file);
    return ASSAY_OK;
}
