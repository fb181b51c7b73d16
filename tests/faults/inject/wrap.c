/* The wrappers of what our objects call on the host. */
#include "tests/faults/inject/inject.h"
#include "tests/faults/inject/shape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void set_errno(int error) {
    if (error != 0)
        errno = error;
}

#define DECLARE(name)                                                                              \
    word __real_##name(WORDS);                                                                     \
    word __wrap_##name(WORDS);                                                                     \
    word __wrap_##name(WORDS)

#define CALL(name, result, error)                                                                  \
    DECLARE(name) {                                                                                \
        if (!inject_fires(#name))                                                                  \
            return __real_##name(GIVEN);                                                           \
        set_errno(error);                                                                          \
        return result;                                                                             \
    }

#define AFTER(name, result, error)                                                                 \
    DECLARE(name) {                                                                                \
        const bool fires = inject_fires(#name);                                                    \
        const word real = __real_##name(GIVEN);                                                    \
        if (!fires)                                                                                \
            return real;                                                                           \
        set_errno(error);                                                                          \
        return result;                                                                             \
    }

#define WRITTEN(name)

#include "tests/faults/inject/calls.def"

/* ---- those of another shape ---- */

/* operator new: throws std::bad_alloc. */
void *__real__Znwm(size_t size);
void *__wrap__Znwm(size_t size);
__attribute__((noreturn)) void _ZSt17__throw_bad_allocv(void);

void *__wrap__Znwm(size_t size) {
    if (inject_fires("operator new"))
        _ZSt17__throw_bad_allocv();
    return __real__Znwm(size);
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **text, const char *format, ...) {
    va_list arguments;
    if (inject_fires("asprintf")) {
        *text = NULL;
        errno = ENOMEM;
        return -1;
    }
    va_start(arguments, format);
    const int length = vasprintf(text, format, arguments);
    va_end(arguments);
    return length;
}

/* ---- streams ---- */

size_t __real_fread(void *to, size_t size, size_t count, FILE *from);
size_t __wrap_fread(void *to, size_t size, size_t count, FILE *from);
size_t __wrap_fread(void *to, size_t size, size_t count, FILE *from) {
    if (!inject_fires("fread"))
        return __real_fread(to, size, count, from);
    from->_flags |= _IO_ERR_SEEN; /* for ferror */
    errno = EIO;
    return 0;
}

/* To memory, a pipe or a socket it changes no file, and has another name (kill_test.c). */
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size) {
    struct stat s;
    const bool named =
        fstatat(file, "", &s, AT_EMPTY_PATH) == 0 && S_ISREG(s.st_mode) && s.st_nlink > 0;
    if (!inject_fires(named ? "write" : "write, to no file"))
        return __real_write(file, bytes, size);
    errno = ENOSPC;
    return -1;
}

/* Formatted output fails where its buffer reaches the file, so that is where it is made to: fdopen
 * gives a stream whose writing and closing count as calls. When calls no longer count it is the
 * library's own, which can be read as well: ci/coverage's counts are added up at the very end. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size) {
    if (inject_fires("write")) {
        errno = ENOSPC;
        return 0; /* an error, to fopencookie */
    }
    return __real_write((int)(intptr_t)cookie, bytes, size);
}

static int stream_close(void *cookie) {
    return close((int)(intptr_t)cookie);
}

FILE *__real_fdopen(int file, const char *mode);
FILE *__wrap_fdopen(int file, const char *mode);
FILE *__wrap_fdopen(int file, const char *mode) {
    if (inject_fires("fdopen")) {
        errno = ENOMEM;
        return NULL;
    }
    if (!inject_is_armed())
        return __real_fdopen(file, mode);
    return fopencookie((void *)(intptr_t)file, mode,
                       (cookie_io_functions_t){.write = stream_write, .close = stream_close});
}
