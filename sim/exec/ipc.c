#include "sim/exec/ipc.h"

#include "sim/exec/allocate.h"
#include "sim/exec/handles.h"
#include "sim/exec/stream.h"
#include "sim/exec/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAZY_PEER_ACCESS = 1, INTERPROCESS = 2 | 4 }; /* with no timing, as CUDA wants it */
#define OF_MEMORY UINT64_C(0x6d656d2e6d697361)
#define OF_EVENT  UINT64_C(0x7665742e6d697361)
_Static_assert(sizeof(exec_ipc_handle) == 64, "as CUDA has it");

/* Memory that this process gives to others or has from them. */
typedef struct share {
    struct share *next;
    char *low;
    int file;        /* open, of memory that is given; -1: it is had */
    uint64_t number; /* the file's inode */
    uint64_t times;  /* that it was opened */
} share;

static share *shares;

static share *share_of(const void *memory) {
    share *s = shares;
    while (s != NULL && s->low != memory)
        s = s->next;
    return s;
}

static share *add(char *low, int file, uint64_t number) {
    share *s = malloc(sizeof *s);
    if (s == NULL)
        return NULL;
    *s = (share){shares, low, file, number, 1};
    shares = s;
    return s;
}

static void drop(const share *gone) {
    share **link = &shares;
    while (*link != gone)
        link = &(*link)->next;
    share *s = *link;
    *link = s->next;
    if (s->file >= 0)
        close(s->file);
    free(s);
}

/* The pages of an allocation become those of a file, or fresh ones for -1. */
static bool put(const exec_allocation *a, int file) {
    const int flags = MAP_SHARED | MAP_FIXED | (file < 0 ? MAP_ANONYMOUS : 0);
    return mmap(a->pages, a->page_bytes, PROT_READ | PROT_WRITE, flags, file, 0) != MAP_FAILED;
}

/* ---- giving ---- */

static bool write_all(int file, const char *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = pwrite(file, from + done, bytes - done, (off_t)done);
        if (n <= 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* NULL: no memory, or no files. */
static share *give(const exec_allocation *a) {
    const int file = memfd_create("assay-device", MFD_CLOEXEC);
    struct stat s;
    share *made = NULL;
    if (file >= 0 && write_all(file, a->pages, a->page_bytes) && fstat(file, &s) == 0)
        made = add(a->low, file, s.st_ino);
    if (made != NULL && put(a, file))
        return made;
    if (made != NULL)
        drop(made);
    else if (file >= 0)
        close(file);
    return NULL;
}

exec_error exec_ipc_export(exec_ipc_handle *handle, const void *memory) {
    const exec_allocation *a = exec_memory_find(memory);
    if (handle == NULL || a == NULL || !a->plain)
        return EXEC_INVALID_VALUE;
    const share *s = share_of(a->low);
    if (s == NULL)
        s = give(a);
    if (s == NULL)
        return EXEC_OUT_OF_MEMORY;
    *handle = (exec_ipc_handle){.magic = OF_MEMORY,
                                .process = getpid(),
                                .file = (uint64_t)s->file,
                                .number = s->number,
                                .bytes = a->bytes};
    return EXEC_SUCCESS;
}

/* ---- having ---- */

/* -1: there is none any more. */
static int open_file(const exec_ipc_handle *handle) {
    char path[64];
    struct stat s;
    snprintf(path, sizeof path, "/proc/%lld/fd/%llu", (long long)handle->process,
             (unsigned long long)handle->file);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || (fstat(file, &s) == 0 && s.st_ino == handle->number))
        return file;
    close(file);
    return -1;
}

static exec_error have(void **memory, const exec_ipc_handle *handle) {
    const int file = open_file(handle);
    if (file < 0)
        return EXEC_INVALID_VALUE;
    exec_error error = exec_allocate(memory, handle->bytes, EXEC_DEVICE);
    share *s = NULL;
    if (error == EXEC_SUCCESS)
        s = add(*memory, -1, handle->number);
    if (error == EXEC_SUCCESS && (s == NULL || !put(exec_memory_find(*memory), file))) {
        if (s != NULL)
            drop(s);
        (void)exec_deallocate(*memory);
        error = EXEC_OUT_OF_MEMORY;
    }
    close(file);
    return error;
}

exec_error exec_ipc_open(void **memory, const exec_ipc_handle *handle, unsigned flags) {
    if (memory == NULL || flags != LAZY_PEER_ACCESS || handle->magic != OF_MEMORY)
        return EXEC_INVALID_VALUE;
    if (handle->process == getpid())
        return EXEC_INVALID_CONTEXT;
    for (share *s = shares; s != NULL; s = s->next)
        if (s->file < 0 && s->number == handle->number) {
            ++s->times;
            *memory = s->low;
            return EXEC_SUCCESS;
        }
    return have(memory, handle);
}

exec_error exec_ipc_close(void *memory) {
    share *s = share_of(memory);
    if (s == NULL || s->file >= 0)
        return EXEC_INVALID_VALUE;
    if (--s->times > 0)
        return EXEC_SUCCESS;
    exec_streams_synchronize();
    /* What is freed loses its bytes, and they are the other's. */
    if (!put(exec_memory_find(memory), -1))
        return EXEC_OUT_OF_MEMORY;
    drop(s);
    return exec_deallocate(memory);
}

bool exec_ipc_release(const void *memory) {
    const share *s = share_of(memory);
    if (s != NULL && s->file < 0)
        return false;
    if (s != NULL)
        drop(s);
    return true;
}

/* ---- events ---- */

exec_error exec_ipc_export_event(exec_ipc_handle *handle, void *event) {
    if (handle == NULL)
        return EXEC_INVALID_VALUE;
    if (!exec_handle_is(event, EXEC_HANDLE_EVENT) || !exec_event_is_shared(event))
        return EXEC_INVALID_HANDLE;
    *handle = (exec_ipc_handle){
        .magic = OF_EVENT, .process = getpid(), .number = (uint64_t)(uintptr_t)event};
    return EXEC_SUCCESS;
}

exec_error exec_ipc_open_event(void **event, const exec_ipc_handle *handle) {
    if (handle->magic != OF_EVENT)
        return EXEC_MAP_FAILED;
    if (kill((pid_t)handle->process, 0) != 0 && errno == ESRCH)
        return EXEC_INVALID_HANDLE;
    if (handle->process == getpid())
        return EXEC_INVALID_CONTEXT;
    return exec_make_event(event, INTERPROCESS);
}
