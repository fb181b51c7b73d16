#include "sim/defect.h"

#include "sim/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const sim_launch *launch;
static sim_defect_text defect;

const sim_defect_text *sim_defect_get(void) {
    return &defect;
}

void sim_defect_put(const sim_defect_text *text) {
    defect = *text;
}

const char *sim_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_thread(char *text, size_t size, int32_t thread) {
    uint32_t t = (uint32_t)thread, x = launch->block.x, y = launch->block.y;
    snprintf(text, size, "thread (%u,%u,%u)", t % x, t / x % y, t / x / y);
}

const char *sim_thread_text(int32_t thread, char text[SIM_POSITION]) {
    put_thread(text, SIM_POSITION, thread);
    return text;
}

const char *sim_block_thread_text(uint64_t block, int32_t thread, char text[SIM_POSITION]) {
    uint64_t x = launch->grid.x, y = launch->grid.y;
    int n = snprintf(text, SIM_POSITION, "block (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ") ", block % x,
                     block / x % y, block / x / y);
    put_thread(text + n, SIM_POSITION - (size_t)n, thread);
    return text;
}

void sim_defects_begin(const sim_launch *l) {
    launch = l;
    defect.kind[0] = '\0';
    defect.file[0] = '\0';
    defect.more = 0;
}

bool sim_defect_again(const char *kind) {
    if (defect.kind[0] == '\0')
        return false;
    if (strcmp(kind, defect.kind) == 0)
        ++defect.more;
    return true;
}

void sim_defect(const char *kind, const char *file, int line, const char *format, ...) {
    if (sim_defect_again(kind))
        return;
    snprintf(defect.kind, sizeof defect.kind, "%s", kind);
    snprintf(defect.file, sizeof defect.file, "%s", file != NULL ? file : "");
    char message[480], place[160] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (file)
        snprintf(place, sizeof place, "%s:%d: ", sim_base_name(file), line);
    snprintf(defect.line, sizeof defect.line, "%s%s in %s: %s", place, kind, sim_now.kernel,
             message);
}

const char *sim_defect_file(void) {
    return defect.file;
}

assay_status sim_defects_end(void) {
    if (defect.kind[0] == '\0')
        return ASSAY_OK;
    if (defect.more == 0)
        return assay_fail(ASSAY_ERR_KERNEL, "%s", defect.line);
    return assay_fail(ASSAY_ERR_KERNEL, "%s, and %" PRIu64 " more like it", defect.line,
                      defect.more);
}
