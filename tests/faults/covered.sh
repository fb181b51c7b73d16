#!/usr/bin/env bash
# Every function that our objects call in a library either fails on demand (inject/calls.def) or is
# named here as one that cannot fail, or whose failure shows elsewhere. So no new call is forgotten.
# Usage: covered.sh ARCHIVE... -- ARCHIVE...: after --, ours too, but only developers run them, or
# they run within the program of assay exec: their calls need not fail on demand.
set -euo pipefail
export LC_ALL=C
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

# Arithmetic and text in memory that is there.
certain='asin cbrt cosh erf erff erfc tanh tanhf nextafter nextafterf round compressBound hypot log10 cos exp expf exp2 expm1 fabs fmax fmaxf fmin fminf fmod frexp ilogb ldexp ldexpf log log1p log2 pow sin sincos sqrt
    sqrtf ilogbf fesetround __umodti3 __modti3 __cpu_model crc32_z inflateEnd cblas_dgemm cblas_dgemv cblas_dscal cblas_sgemm cblas_sgemv
    alphasort fnmatch memchr memcmp memcpy memmem memmove memset qsort strchr strcmp strcpy strcspn strlen strncat strncmp
    strncpy stpcpy strcat strrchr strsep strspn strstr strtok_r strnlen strtod strtod_l strtol strtoll strtoul strtoull
    snprintf sprintf vsnprintf
    sscanf __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc dirname strerror strsignal strftime dlerror'
# Streams: these fail where the buffer reaches the file, which does fail on demand.
certain+=' fprintf fputc fputs fwrite printf putc ferror fileno'
# The system, asked for what it always grants.
certain+=' sched_getaffinity __sched_cpucount clock_gettime nanosleep time umask isatty getenv unsetenv alarm getpid getppid setpgid signal raise difftime dl_iterate_phdr sigemptyset sigfillset
    uselocale free freelocale _ZdlPvm pthread_join'
# The sandbox: what the system refuses is a wall that does not stand, and the judge is told so.
certain+=' chdir mount umount2 unshare syscall setgroups seteuid setresgid setresuid setsid symlink
    faccessat glob globfree getrlimit geteuid getegid pause'
# Locks, which fail where they are misused alone.
certain+=' pthread_mutex_lock pthread_mutex_unlock _ZSt20__throw_system_errori'
# A module that is no longer needed.
certain+=' dlclose'
# How many threads a library has, which changes no number.
certain+=' openblas_get_num_procs openblas_set_num_threads'
# A way out of sim/ptx's parser, to a place that is set before.
certain+=' _setjmp longjmp'
# Wishes, granted or not: memory back, no core file, an end with the parent's.
certain+=' fallocate setrlimit prctl'
# A folder's files that cannot be removed stay; a path is told whole where this is not known.
certain+=' opendir readdir closedir getcwd'
# Folders of assay mutants' own.
certain+=' mkdtemp rmdir'
# To and of a child of our own: their failures are not ours to see.
certain+=' kill waitpid'
# Of assay profile, which becomes another program: tests/bench/profile_test.sh sees it do so, and fail.
certain+=' execv'
# Of the child that becomes a compiler: where there is none it ends with 127, which is told.
certain+=' execvp'
# A kernel's name stays as it is where this cannot read it.
certain+=' __cxa_demangle'
# The end, and the C++ runtime.
certain+=' abort _exit _Unwind_Resume _ZSt20__throw_length_errorPKc _ZSt28__throw_bad_array_new_lengthv __cxa_begin_catch __cxa_end_catch
    __cxa_rethrow __gxx_personality_v0 __errno_location'
# No functions, the way to a thread-local variable, or a comparison of versions that ends the program.
certain+=' __tls_get_addr environ stderr stdout _ZSt7nothrow _ZTISt9bad_alloc _GLOBAL_OFFSET_TABLE_ H5check_version
    _ZTVN10__cxxabiv117__class_type_infoE _ZTVN10__cxxabiv120__si_class_type_infoE __libc_single_threaded'
data='^H5(T|P)_[A-Z0-9_]*_g$'

judged=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    judged+=("$1")
    shift
done
others=("${@:2}")

names() { tr -s ' \n' '\n' | sort -u; }
# The names that programs use: a C library may call them __NAME_chk or __isoc23_NAME.
plain() { sed -E 's/^__(.*)_chk$/\1/; s/^__isoc[0-9]+_//' | names; }
called() { nm --undefined-only "$@" | awk 'NF == 2 && $2 != "__stack_chk_fail" { print $2 }' | plain; }
own() { nm --defined-only "$@" | awk 'NF == 3 { print $3 }' | names; }
failing() { sed -nE 's/^(CALL|AFTER|WRITTEN)\(([A-Za-z0-9_]+).*/\2/p' "$here/inject/calls.def" | plain; }

missing=$(comm -23 <(called "${judged[@]}") <(own "${judged[@]}" "${others[@]}") | grep -vE "$data" |
    comm -23 - <(failing) | comm -23 - <(echo "$certain" | names))
if [ -n "$missing" ]; then
    echo "not in tests/faults/inject/calls.def, nor certain in tests/faults/covered.sh:"
    # shellcheck disable=SC2086 # a line each
    printf '  %s\n' $missing
    exit 1
fi
# A list that names a function which is no longer called hides nothing, but it is out of date.
unused=$(failing | comm -23 - <(called "${judged[@]}"))
if [ -n "$unused" ]; then
    echo "in tests/faults/inject/calls.def, but called by none of our objects:"
    # shellcheck disable=SC2086
    printf '  %s\n' $unused
    exit 1
fi
