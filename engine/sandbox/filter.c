/*
 * A program for the kernel's packet filter, which looks at each system call. Listed calls are
 * refused with EPERM, all others are allowed: drivers and threads must go on. The filter alone
 * would be a weak wall; with namespaces it closes the gaps that these leave.
 */
#include "engine/sandbox/restrict.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(ARCHITECTURE)

enum { MOST = 512, X32 = 0x40000000 };

/* Calls that no kernel needs, and no driver in a process that has been started. */
static const int refused[] = {
    /* other processes */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_tkill,
    SYS_pidfd_send_signal,
    SYS_pidfd_open,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    SYS_setns,
    SYS_unshare,
    SYS_migrate_pages,
    SYS_move_pages,
    /* the system */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    442 /* mount_setattr */,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_acct,
    SYS_quotactl,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_syslog,
    SYS_vhangup,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_fanotify_init,
    SYS_lookup_dcookie,
    /* parts of the kernel with a past */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    447 /* memfd_secret */,
    /* objects that outlive the process */
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_semget,
    SYS_semop,
    SYS_mq_open,
    SYS_mq_unlink,
#if defined(__x86_64__)
    SYS_kexec_file_load,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_uselib,
    SYS_create_module,
#endif
};

static const int starting[] = {
    SYS_execve,
    SYS_execveat,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
#endif
};

/* Those whose first argument is a process: its own may be named. */
static const int of_a_process[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
                                   SYS_prlimit64};

typedef struct program {
    struct sock_filter line[MOST];
    unsigned short count;
} program;

static void put(program *p, unsigned code, unsigned jump_true, unsigned jump_false,
                uint32_t value) {
    if (p->count < MOST)
        p->line[p->count++] =
            (struct sock_filter){(uint16_t)code, (uint8_t)jump_true, (uint8_t)jump_false, value};
}

static void load(program *p, size_t offset) {
    put(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* The lower half, on the machines of little endian that this is for. */
static void load_argument(program *p, int i) {
    load(p, offsetof(struct seccomp_data, args) + 8 * (size_t)i);
}

static void finish(program *p, uint32_t what) {
    put(p, BPF_RET | BPF_K, 0, 0, what);
}

static void refuse(program *p) {
    finish(p, SECCOMP_RET_ERRNO | EPERM);
}

/* Refuses the call whatever its arguments are. */
static void refuse_call(program *p, int call) {
    put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)call);
    refuse(p);
}

/* A rule about one call: skipped unless it is that one; `length` lines follow, which decide. */
static void about(program *p, int call, unsigned length) {
    put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, length, (uint32_t)call);
}

/* Decides by whether an argument is one of some values: `or` others, and the end in any case. */
static void by_value(program *p, int call, int argument, const uint32_t *value, unsigned n,
                     bool allowed) {
    about(p, call, n + 3);
    load_argument(p, argument);
    for (unsigned i = 0; i < n; ++i)
        put(p, BPF_JMP | BPF_JEQ | BPF_K, n - i, 0, value[i]);
    finish(p, allowed ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW);
    finish(p, allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
}

/* Refuses the call when any of the bits is set in an argument. */
static void refuse_bits(program *p, int call, int argument, uint32_t bits) {
    about(p, call, 4);
    load_argument(p, argument);
    put(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
    refuse(p);
    finish(p, SECCOMP_RET_ALLOW);
}

/* ---- rules ---- */

static void rules_of_processes(program *p, const sandbox_plan *plan) {
    const uint32_t own = (uint32_t)getpid();
    for (size_t i = 0; i < sizeof of_a_process / sizeof *of_a_process; ++i) {
        const uint32_t allowed[] = {own, 0};
        const bool limits = of_a_process[i] == SYS_prlimit64; /* of 0 means: its own */
        by_value(p, of_a_process[i], 0, allowed, limits ? 2 : 1, true);
    }
    if (plan->may_start)
        return;
    for (size_t i = 0; i < sizeof starting / sizeof *starting; ++i)
        refuse_call(p, starting[i]);
    /* Threads alone. Flags of clone3() lie in memory: the library then takes clone(). */
    about(p, SYS_clone, 4);
    load_argument(p, 0);
    put(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_THREAD);
    finish(p, SECCOMP_RET_ALLOW);
    refuse(p);
    put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3);
    finish(p, SECCOMP_RET_ERRNO | ENOSYS);
}

static void rules_of_arguments(program *p, const sandbox_plan *plan) {
    const uint32_t options[] = {PR_SET_PDEATHSIG, PR_SET_MM, PR_SET_CHILD_SUBREAPER,
                                PR_SET_PTRACER};
    const uint32_t owners[] = {8 /* F_SETOWN */, 15 /* F_SETOWN_EX */};
    const uint32_t terminal[] = {TIOCSTI, 0x541c /* TIOCLINUX */, 0x8901 /* FIOSETOWN */,
                                 0x8902 /* SIOCSPGRP */};
    const uint32_t asking[] = {0xffffffff};
    const uint32_t families[] = {AF_UNIX, AF_NETLINK};
    by_value(p, SYS_prctl, 0, options, 4, false);
    by_value(p, SYS_fcntl, 1, owners, 2, false);
    by_value(p, SYS_ioctl, 1, terminal, 4, false);
    by_value(p, SYS_personality, 0, asking, 1, true);
    if (!plan->simulated) {
        by_value(p, SYS_socket, 0, families, 2, true);
        return;
    }
    /* No driver: no sockets, no files in memory, and code stays as it was loaded. */
    refuse_call(p, SYS_socket);
    if (plan->compiles)
        return;
    refuse_call(p, SYS_memfd_create);
    refuse_bits(p, SYS_mprotect, 2, PROT_EXEC);
    refuse_bits(p, SYS_pkey_mprotect, 2, PROT_EXEC);
    about(p, SYS_mmap, 8); /* PROT_EXEC with PROT_WRITE, or of no file */
    load_argument(p, 2);
    put(p, BPF_JMP | BPF_JSET | BPF_K, 1, 0, PROT_EXEC);
    finish(p, SECCOMP_RET_ALLOW);
    put(p, BPF_JMP | BPF_JSET | BPF_K, 2, 0, PROT_WRITE);
    load_argument(p, 3);
    put(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, MAP_ANONYMOUS);
    refuse(p);
    finish(p, SECCOMP_RET_ALLOW);
}

bool restrict_calls(const sandbox_plan *plan) {
    static program p;
    p.count = 0;
    load(&p, offsetof(struct seccomp_data, arch));
    put(&p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    finish(&p, SECCOMP_RET_KILL_PROCESS);
    load(&p, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    put(&p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
    refuse(&p);
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        refuse_call(&p, refused[i]);
    rules_of_processes(&p, plan);
    rules_of_arguments(&p, plan);
    finish(&p, SECCOMP_RET_ALLOW);
    const struct sock_fprog code = {.len = p.count, .filter = p.line};
    return p.count < MOST &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &code) == 0;
}

#else

bool restrict_calls(const sandbox_plan *plan) {
    (void)plan;
    return false; /* not written for this processor */
}

#endif
