#include "cli/environment.h"

#include "engine/isolate.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void find_cpu(char *text, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(text, size, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(text, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

static void find_os(char *text, size_t size) {
    struct utsname u;
    if (uname(&u) == 0)
        snprintf(text, size, "%s %s %s", u.sysname, u.release, u.machine);
    else
        snprintf(text, size, "unknown");
}

/* OpenBLAS tells its name; of another library, the file that it was loaded from. */
static void find_blas(char *text, size_t size) {
    char *(*config)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_config");
    Dl_info info;
    memcpy(&config, &symbol, sizeof config);
    symbol = dlsym(RTLD_DEFAULT, "cblas_dgemm");
    if (config != NULL)
        snprintf(text, size, "%s", config());
    else if (symbol != NULL && dladdr(symbol, &info) != 0 && info.dli_fname != NULL)
        snprintf(text, size, "%s", info.dli_fname);
    else
        snprintf(text, size, "unknown");
}

void environment_init(cli_environment *e, const assay_device *device) {
    const time_t now = time(NULL);
    struct tm utc;
    *e = (cli_environment){
        .device = device->name, .compiler = COMPILER, .build_type = ASSAY_BUILD_TYPE};
    if (device->probe(e->device_text) != ASSAY_OK)
        snprintf(e->device_text, sizeof e->device_text, "%s", assay_error());
    find_cpu(e->cpu, sizeof e->cpu);
    find_os(e->os, sizeof e->os);
    find_blas(e->blas, sizeof e->blas);
    if (gmtime_r(&now, &utc) != NULL)
        strftime(e->date, sizeof e->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

sandbox_walls environment_walls(cli_environment *e, const assay_device *device) {
    sandbox_walls walls = 0;
    if (assay_is_isolated(device) && assay_isolated_walls(device, &walls) != ASSAY_OK)
        walls = 0;
    sandbox_text(walls, e->sandbox);
    return walls;
}

cli_environment_item environment_item(const cli_environment *e, int i) {
    const cli_environment_item items[] = {
        {"device", e->device},     {"device_text", e->device_text},
        {"cpu", e->cpu},           {"os", e->os},
        {"compiler", e->compiler}, {"build_type", e->build_type},
        {"blas", e->blas},         {"date", e->date},
        {"sandbox", e->sandbox},
    };
    const int all = (int)(sizeof items / sizeof *items);
    const int count = e->sandbox[0] != '\0' ? all : all - 1;
    return i < count ? items[i] : (cli_environment_item){NULL, NULL};
}
