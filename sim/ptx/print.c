/* printf of kernels: at most 32 arguments behind each other, each at a multiple of its size. */
#include "sim/ptx/internal.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 32 };

/* The next argument of so many bytes. */
static const char *take(const char **arguments, size_t bytes) {
    const uintptr_t at = ((uintptr_t)*arguments + bytes - 1) & ~(uintptr_t)(bytes - 1);
    *arguments += at - (uintptr_t)*arguments + bytes;
    return *arguments - bytes;
}

/* One conversion, "%-8.3f", as the host prints it. `form` ends with the letter; long integers get
 * the host's length. */
static void print_one(const char *form, size_t n, bool wide, const char **arguments) {
    char host[LONGEST + 4];
    const char letter = form[n - 1];
    size_t length = 0;
    for (size_t i = 0; i + 1 < n; ++i)
        if (strchr("hlLqjzt", form[i]) == NULL)
            host[length++] = form[i];
    if (strchr("diouxX", letter) != NULL) {
        long long value;
        int32_t narrow;
        if (wide) {
            memcpy(&value, take(arguments, 8), sizeof value);
        } else {
            memcpy(&narrow, take(arguments, 4), sizeof narrow);
            value = strchr("di", letter) != NULL ? narrow : (long long)(uint32_t)narrow;
        }
        snprintf(host + length, 4, "ll%c", letter);
        printf(host, value);
    } else if (letter == 'c') {
        int value;
        memcpy(&value, take(arguments, 4), sizeof value);
        snprintf(host + length, 4, "c");
        printf(host, value);
    } else if (letter == 's' || letter == 'p') {
        const char *value;
        memcpy(&value, take(arguments, 8), sizeof value);
        snprintf(host + length, 4, "%c", letter);
        printf(host, value);
    } else {
        double value;
        memcpy(&value, take(arguments, 8), sizeof value);
        snprintf(host + length, 4, "%c", letter);
        printf(host, value);
    }
}

int32_t ptx_print(const char *format, const char *arguments) {
    int32_t count = 0;
    while (*format != '\0') {
        const size_t plain = strcspn(format, "%");
        fwrite(format, 1, plain, stdout);
        format += plain;
        if (format[0] == '%' && format[1] == '%') {
            putchar('%');
            format += 2;
        } else if (format[0] == '%') {
            size_t n = 1 + strcspn(format + 1, "diouxXcspfFeEgGaA");
            if (format[n] == '\0' || n + 1 > LONGEST)
                return -1;
            const size_t letters = strcspn(format, "lqjzt");
            print_one(format, n + 1, letters < n && memchr(format, 'h', n) == NULL, &arguments);
            format += n + 1;
            ++count;
        }
    }
    return count;
}
