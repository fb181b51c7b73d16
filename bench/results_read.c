/* The other half of bench/results_json.h. */
#include "bench/results_json.h"

#include "cJSON.h"
#include "core/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A value and where it stands, for messages: "rows[3]". */
typedef struct place {
    const char *file;
    const cJSON *value;
    char path[64];
} place;

static assay_status wrong(const place *at, const char *key, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%.200s: %s%s%.40s %s", at->file, at->path,
                      at->path[0] != '\0' && key[0] != '\0' ? "." : "", key, what);
}

/* ---- values ---- */

static const cJSON *member(const place *at, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(at->value, key);
}

/* The longest part of `text` that fits and ends between two code points. */
static size_t fitting(const char *text, size_t room) {
    const char *end = text;
    for (const char *next = text; *next != '\0'; end = next) {
        utf8_next(&next);
        if ((size_t)(next - text) >= room)
            break;
    }
    return (size_t)(end - text);
}

/* Text that is too long is cut: what filled its field and was no UTF-8 grew when it was written. */
static assay_status read_text(const place *at, const char *key, char *text, size_t room) {
    const cJSON *item = member(at, key);
    if (!cJSON_IsString(item))
        return wrong(at, key, item == NULL ? "is missing" : "is not text");
    const size_t length = fitting(item->valuestring, room);
    memcpy(text, item->valuestring, length);
    text[length] = '\0';
    return ASSAY_OK;
}

/* Text that tells rows apart: two that were cut could become one. */
static assay_status read_name(const place *at, const char *key, char *text, size_t room) {
    const assay_status status = read_text(at, key, text, room);
    if (status == ASSAY_OK && strlen(member(at, key)->valuestring) >= room)
        return wrong(at, key, "is longer than any that assay writes");
    return status;
}

static bool number_of(const cJSON *item, double *value) {
    *value = (double)NAN;
    if (cJSON_IsNull(item))
        return true;
    if (cJSON_IsNumber(item)) {
        *value = item->valuedouble;
        return true;
    }
    if (!cJSON_IsString(item))
        return false;
    *value = item->valuestring[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    return strcmp(item->valuestring, "inf") == 0 || strcmp(item->valuestring, "-inf") == 0;
}

/* A number that is not there, as an older version did not write it, was not taken. */
static assay_status read_number(const place *at, const char *key, double *value) {
    const cJSON *item = member(at, key);
    *value = (double)NAN;
    return item == NULL || number_of(item, value) ? ASSAY_OK : wrong(at, key, "is not a number");
}

/* Whole numbers up to 2^53, which doubles hold; 0 where it is not there. */
static assay_status read_count(const place *at, const char *key, double most, int64_t *value) {
    double number;
    const assay_status status = read_number(at, key, &number);
    if (status != ASSAY_OK)
        return status;
    *value = 0;
    if (member(at, key) == NULL)
        return ASSAY_OK;
    if (!(number >= 0 && number <= most) || number != floor(number))
        return wrong(at, key, "is no count");
    *value = (int64_t)number;
    return ASSAY_OK;
}

static assay_status read_bool(const place *at, const char *key, bool *value) {
    const cJSON *item = member(at, key);
    if (!cJSON_IsBool(item))
        return wrong(at, key, item == NULL ? "is missing" : "is neither true nor false");
    *value = cJSON_IsTrue(item);
    return ASSAY_OK;
}

static assay_status read_array(const place *at, const char *key, const cJSON **array) {
    *array = member(at, key);
    if (!cJSON_IsArray(*array))
        return wrong(at, key, *array == NULL ? "is missing" : "is not a list");
    return ASSAY_OK;
}

static assay_status read_three(const place *at, const char *key, double value[3]) {
    const cJSON *array, *item;
    const assay_status status = read_array(at, key, &array);
    if (status != ASSAY_OK)
        return status;
    if (cJSON_GetArraySize(array) != 3)
        return wrong(at, key, "is not a list of three");
    cJSON_ArrayForEach(item, array) {
        if (!number_of(item, value++))
            return wrong(at, key, "holds what is not a number");
    }
    return ASSAY_OK;
}

/* ---- names ---- */

static const char *stage_name(int i) {
    return bench_stage_name((bench_stage)i);
}
static const char *cache_name(int i) {
    return bench_cache_name((bench_cache)i);
}
static const char *status_name(int i) {
    return bench_status_name((bench_status)i);
}

static assay_status read_choice(const place *at, const char *key, const char *(*name)(int),
                                int count, int *choice) {
    const cJSON *item = member(at, key);
    for (int i = 0; cJSON_IsString(item) && i < count; ++i) {
        if (strcmp(item->valuestring, name(i)) == 0) {
            *choice = i;
            return ASSAY_OK;
        }
    }
    return wrong(at, key, item == NULL ? "is missing" : "is a word that this assay does not know");
}

/* ---- the document ---- */

static assay_status read_choices(const place *at, bench_row *row) {
    int stage = 0, cache = 0, status = 0;
    assay_status done;
    if ((done = read_choice(at, "stage", stage_name, BENCH_STAGES, &stage)) != ASSAY_OK ||
        (done = read_choice(at, "cache", cache_name, 2, &cache)) != ASSAY_OK ||
        (done = read_choice(at, "status", status_name, BENCH_STATUSES, &status)) != ASSAY_OK)
        return done;
    row->stage = (bench_stage)stage;
    row->cache = (bench_cache)cache;
    row->status = (bench_status)status;
    return ASSAY_OK;
}

static assay_status read_samples(const place *at, bench_row *row) {
    const cJSON *array, *item;
    const assay_status status = read_array(at, "samples_us", &array);
    const int count = status == ASSAY_OK ? cJSON_GetArraySize(array) : 0;
    if (status != ASSAY_OK || count == 0)
        return status;
    row->sample = malloc((size_t)count * sizeof *row->sample);
    if (row->sample == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d samples of %.200s", count, at->file);
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || !(item->valuedouble > 0))
            return wrong(at, "samples_us", "holds what is no time");
        row->sample[row->n_samples++] = item->valuedouble;
    }
    return ASSAY_OK;
}

static assay_status read_row(const place *at, bench_row *row) {
    assay_status status;
    int64_t verified;
#define READ(call)                                                                                 \
    if ((status = (call)) != ASSAY_OK)                                                             \
    return status
    if (!cJSON_IsObject(at->value))
        return wrong(at, "", "is not an object");
    READ(read_name(at, "experiment", row->experiment, sizeof row->experiment));
    READ(read_name(at, "case", row->case_text, sizeof row->case_text));
    READ(read_name(at, "arm", row->arm, sizeof row->arm));
    READ(read_text(at, "label", row->label, sizeof row->label));
    READ(read_bool(at, "ours", &row->ours));
    READ(read_choices(at, row));
    READ(read_text(at, "reason", row->reason, sizeof row->reason));
    READ(read_text(at, "repro", row->repro, sizeof row->repro));
    READ(read_text(at, "versions", row->versions, sizeof row->versions));
    READ(read_text(at, "worst_tensor", row->worst_tensor, sizeof row->worst_tensor));
    READ(read_number(at, "wall_us", &row->wall));
    READ(read_number(at, "customary_us", &row->customary));
    READ(read_number(at, "floor_us", &row->floor));
    READ(read_number(at, "bytes", &row->bytes));
    READ(read_number(at, "flops", &row->flops));
    READ(read_number(at, "error_over_bound", &row->ratio));
    READ(read_count(at, "verified", INT32_MAX, &verified));
    row->verified = (int32_t)verified;
    READ(read_count(at, "peak_bytes", 0x1p53, &row->peak_bytes));
    READ(read_count(at, "before_backward_bytes", 0x1p53, &row->before_backward_bytes));
    return read_samples(at, row);
}

static assay_status read_environment(const place *at, bench_environment *e) {
    assay_status status;
    if (!cJSON_IsObject(at->value))
        return wrong(at, "", at->value == NULL ? "is missing" : "is not an object");
    READ(read_text(at, "date", e->date, sizeof e->date));
    READ(read_text(at, "device", e->device, sizeof e->device));
    READ(read_bool(at, "simulated", &e->simulated));
    READ(read_text(at, "cpu", e->cpu, sizeof e->cpu));
    READ(read_text(at, "os", e->os, sizeof e->os));
    READ(read_text(at, "blas", e->blas, sizeof e->blas));
    READ(read_text(at, "compiler", e->compiler, sizeof e->compiler));
    READ(read_text(at, "commit", e->commit, sizeof e->commit));
    READ(read_text(at, "command", e->command, sizeof e->command));
    READ(read_three(at, "sm_clock_mhz", e->sm_clock_mhz));
    READ(read_three(at, "power_watt", e->power_watt));
    READ(read_number(at, "copy_bytes_per_second", &e->copy_bytes));
    READ(read_number(at, "timer_noise", &e->noise));
    READ(read_number(at, "timer_known_us", &e->known));
    return read_number(at, "timer_measured_us", &e->measured);
#undef READ
}

static assay_status read_rows(const place *at, bench_results *results) {
    const cJSON *array, *item;
    assay_status status = read_array(at, "rows", &array);
    int index = 0;
    if (status != ASSAY_OK)
        return status;
    cJSON_ArrayForEach(item, array) {
        place here = {.file = at->file, .value = item};
        bench_row row = {0};
        snprintf(here.path, sizeof here.path, "rows[%d]", index++);
        status = read_row(&here, &row);
        if (status == ASSAY_OK && bench_results_find(results, &row) != NULL)
            status = wrong(&here, "",
                           "is of the same experiment, case, arm, stage and cache as "
                           "one before it");
        if (status == ASSAY_OK)
            status = bench_results_add(results, &row);
        if (status != ASSAY_OK) {
            free(row.sample);
            return status;
        }
    }
    return ASSAY_OK;
}

static assay_status read_document(const place *at, bench_results *results) {
    const cJSON *format = member(at, "format");
    assay_status status;
    if (!cJSON_IsString(format) || strcmp(format->valuestring, "assay bench") != 0)
        return wrong(at, "",
                     "is no result of assay bench: it does not say \"format\": "
                     "\"assay bench\"");
    bench_environment *e = &results->environment;
    const place environment = {
        .file = at->file, .value = member(at, "environment"), .path = "environment"};
    if ((status = read_text(at, "assay", e->version, sizeof e->version)) != ASSAY_OK ||
        (status = read_number(at, "seconds", &results->seconds)) != ASSAY_OK ||
        (status = read_environment(&environment, e)) != ASSAY_OK)
        return status;
    return read_rows(at, results);
}

/* ---- the file ---- */

static assay_status unreadable(const char *path) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be read: %s", path, strerror(errno));
}

static assay_status load(const char *path, char **text, size_t *size) {
    struct stat info;
    assay_status status = ASSAY_OK;
    FILE *from = fopen(path, "rb");
    *text = NULL;
    if (from == NULL)
        return unreadable(path);
    if (fstat(fileno(from), &info) != 0) {
        status = unreadable(path);
        goto done;
    }
    if (!S_ISREG(info.st_mode)) {
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: is not a regular file", path);
        goto done;
    }
    *size = (size_t)info.st_size;
    *text = malloc(*size + 1);
    if (*text == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for %.300s (%zu bytes)", path, *size);
    else if (fread(*text, 1, *size, from) != *size)
        status = unreadable(path);
done:
    fclose(from);
    return status;
}

/* The line that a byte of the text lies in, from 1. */
static int64_t line_of(const char *text, const char *byte) {
    int64_t line = 1;
    for (; text < byte; ++text)
        line += *text == '\n';
    return line;
}

assay_status bench_results_read(const char *path, bench_results *results) {
    char *text = NULL;
    size_t size = 0;
    const char *end = NULL;
    cJSON *document = NULL;
    bench_results read = {0};
    assay_status status = load(path, &text, &size);
    if (status != ASSAY_OK)
        goto done;
    document = cJSON_ParseWithLengthOpts(text, size, &end, false);
    while (document != NULL && end < text + size && isspace((unsigned char)*end))
        ++end;
    if (document == NULL || end < text + size) {
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: line %" PRId64 " is not valid JSON", path,
                            line_of(text, end != NULL ? end : text));
        goto done;
    }
    status = read_document(&(place){.file = path, .value = document}, &read);
    if (status == ASSAY_OK) {
        bench_results_clear(results);
        *results = read;
        read = (bench_results){0};
    }
done:
    bench_results_clear(&read);
    cJSON_Delete(document);
    free(text);
    return status;
}
