// Does one thing that a tracer must see, under a name of its own: `work WHAT [ARGUMENT ...]`, by the table at the end.
// Every function stands for one thing; what it needs is made by who runs it. Then it says `done` and waits for the end of
// its input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

// A marker as systems with USDT describe it in a note: provider, name, and where two arguments are.
#define MARK(provider, name, first, second)                                                                         \
    __asm__ volatile("990: nop\n"                                                                                   \
                     ".pushsection .note.stapsdt,\"\",\"note\"\n"                                                   \
                     ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"                                                  \
                     "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                                    \
                     "993: .8byte 990b, _.stapsdt.base, 0\n"                                                        \
                     ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"8@%0 8@%1\"\n"                        \
                     "994: .balign 4\n.popsection\n"                                                                \
                     ".ifndef _.stapsdt.base\n"                                                                     \
                     ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                        \
                     ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"                     \
                     ".size _.stapsdt.base, 1\n.popsection\n.endif\n"                                               \
                     :                                                                                              \
                     : "r"((long)(first)), "r"((long)(second)))

// A function of which no table says how long it is, as in libraries that were written by hand.
__asm__(".text\n.globl without_size\n.type without_size,%function\nwithout_size: ret\n");

static volatile unsigned long sink;

static void fail(const char *what) {
    fprintf(stderr, "work: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long checked(long result, const char *what) {
    if (result < 0) fail(what);
    return result;
}

static void nap(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) void spin_here(long ms) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    long end = time.tv_sec * 1000 + time.tv_nsec / 1000000 + ms, now;
    do {
        for (int i = 0; i < 100000; i++) sink += i;
        clock_gettime(CLOCK_MONOTONIC, &time);
        now = time.tv_sec * 1000 + time.tv_nsec / 1000000;
    } while (now < end);
}

// Files.

static int create(const char *path) { return checked(open(path, O_CREAT | O_RDWR | O_TRUNC, 0600), path); }

static void do_open(char **words) { close(checked(open(words[0], O_RDONLY), words[0])); }

static void do_missing(char **words) {
    if (open(words[0], O_RDONLY) >= 0) exit(1);
}

static void do_write(char **words) {
    static char bytes[65536];
    int file = create(words[0]);
    for (int i = 0; i < 16; i++) checked(write(file, bytes, sizeof bytes), "write");
    checked(fsync(file), "fsync");
    lseek(file, 0, SEEK_SET);
    checked(read(file, bytes, sizeof bytes), "read");
    close(file);
}

// Reads it from the disk again.
static void do_reread(char **words) {
    static char bytes[65536];
    do_write(words);
    int file = checked(open(words[0], O_RDONLY), words[0]);
    checked(-posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
    while (checked(read(file, bytes, sizeof bytes), "read") > 0) continue;
    close(file);
}

static void do_sync(char **words) {
    int file = create(words[0]);
    checked(write(file, words[0], 1), "write");
    sync();
    close(file);
}

// Creates a file and removes it.
static void do_brief(char **words) {
    close(create(words[0]));
    checked(unlink(words[0]), "unlink");
}

static void do_remove(char **words) {
    close(create(words[0]));
    checked(rename(words[0], words[1]), "rename");
    checked(unlink(words[1]), "unlink");
}

static void do_stat(char **words) {
    struct stat found;
    checked(stat(words[0], &found), words[0]);
}

static void do_mount(char **words) {
    checked(unshare(CLONE_NEWNS), "unshare");
    checked(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
    checked(mount("worktmp", words[0], "tmpfs", 0, NULL), "mount");
    checked(umount(words[0]), "umount");
}

// Processes.

static void do_exec(char **words) {
    pid_t child = checked(fork(), "fork");
    if (child == 0) {
        execv(words[0], words);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

static void do_exit(char **words) {
    (void)words;
    pid_t child = checked(fork(), "fork");
    if (child == 0) _exit(42);
    waitpid(child, NULL, 0);
    child = checked(fork(), "fork");
    if (child == 0) {
        raise(SIGTERM);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void do_kill(char **words) {
    (void)words;
    signal(SIGUSR1, SIG_IGN);
    checked(kill(getpid(), SIGUSR1), "kill");
}

static void do_setuid(char **words) { checked(setuid(atoi(words[0])), "setuid"); }

static void *thread_begins(void *argument) { return argument; }

static void do_thread(char **words) {
    (void)words;
    pthread_t thread;
    checked(-pthread_create(&thread, NULL, thread_begins, NULL), "pthread_create");
    pthread_join(thread, NULL);
}

static void do_sleep(char **words) { nap(atoi(words[0])); }
static void do_spin(char **words) { spin_here(atoi(words[0])); }

static void move_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    checked(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

static void do_migrate(char **words) {
    (void)words;
    for (int i = 0; i < 10; i++) move_to(i % 2);
}

static void do_pipe(char **words) {
    int ends[2];
    (void)words;
    checked(pipe2(ends, O_CLOEXEC), "pipe2");
}

// Two processes wake each other.
static void do_wake(char **words) {
    (void)words;
    int there[2], back[2];
    char byte = 0;
    checked(pipe(there), "pipe");
    checked(pipe(back), "pipe");
    pid_t child = checked(fork(), "fork");
    for (int i = 0; i < 50; i++) {
        if (child == 0) {
            checked(read(there[0], &byte, 1), "read");
            nap(1);
            checked(write(back[1], &byte, 1), "write");
        } else {
            checked(write(there[1], &byte, 1), "write");
            checked(read(back[0], &byte, 1), "read");
        }
    }
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
}

// One thread holds a lock for which the other waits.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void *wait_for_it(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void do_futex(char **words) {
    (void)words;
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    checked(-pthread_create(&thread, NULL, wait_for_it, NULL), "pthread_create");
    nap(50);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

static void *map_again_and_again(void *argument) {
    for (int i = 0; i < 500; i++) {
        char *memory = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) fail("mmap");
        for (int at = 0; at < 32768; at += 4096) memory[at] = 1;
        munmap(memory, 32768);
    }
    return argument;
}

// Threads get in each other's way at the lock of their memory.
static void do_contend(char **words) {
    (void)words;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) checked(-pthread_create(&threads[i], NULL, map_again_and_again, NULL), "pthread_create");
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

// Memory.

__attribute__((noinline)) void *keep_memory(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) fail("malloc");
    memset(memory, 1, bytes);
    return memory;
}

static void do_malloc(char **words) {
    for (int i = 0; i < 10; i++) {
        void *back = malloc(1000);
        sink += (unsigned long)back;
        free(back);
    }
    sink += (unsigned long)keep_memory(atol(words[0]));
}

static void write_text(const char *path, const char *text) {
    int file = checked(open(path, O_WRONLY), path);
    checked(write(file, text, strlen(text)), path);
    close(file);
}

static void do_touch(char **words) {
    size_t bytes = atol(words[0]);
    // If somebody must be killed for memory, this is who.
    write_text("/proc/self/oom_score_adj", "1000");
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
}

// Pages of a file that must be read again.
static void do_major(char **words) {
    int file = checked(open(words[0], O_RDONLY), words[0]);
    long bytes = checked(lseek(file, 0, SEEK_END), "lseek");
    checked(fsync(file), "fsync");
    checked(-posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), "fadvise");
    char *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail("mmap");
    madvise(memory, bytes, MADV_RANDOM);
    for (long at = 0; at < bytes; at += 4096) sink += memory[at];
}

static void do_put(char **words) { write_text(words[0], words[1]); }

// Joins a control group and needs more memory than it allows.
static void do_oom(char **words) {
    pid_t child = checked(fork(), "fork");
    if (child == 0) {
        write_text(words[0], "0");
        do_touch((char *[]){"268435456"});
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void do_shm(char **words) {
    (void)words;
    int id = checked(shmget(IPC_PRIVATE, 12345, IPC_CREAT | 0600), "shmget");
    void *memory = shmat(id, NULL, 0);
    if (memory == (void *)-1) fail("shmat");
    shmctl(id, IPC_RMID, NULL);
    checked(shmdt(memory), "shmdt");
}

// Network, on the loopback.

static struct sockaddr_in address_of(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int listener(int port, int backlog) {
    int yes = 1, server = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    struct sockaddr_in address = address_of(port);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    checked(bind(server, (struct sockaddr *)&address, sizeof address), "bind");
    checked(listen(server, backlog), "listen");
    return server;
}

static int client(int port, int flags) {
    int client = checked(socket(AF_INET, SOCK_STREAM | flags, 0), "socket");
    struct sockaddr_in address = address_of(port);
    if (connect(client, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS &&
        errno != ECONNREFUSED)
        fail("connect");
    return client;
}

// A connection, 20 times 1000 bytes each way, closed by the client first.
static void do_tcp(char **words) {
    char bytes[1000] = {0};
    int server = listener(atoi(words[0]), 8), here = client(atoi(words[0]), 0);
    int there = checked(accept(server, NULL, NULL), "accept");
    for (int i = 0; i < 20; i++) {
        checked(send(here, bytes, sizeof bytes, 0), "send");
        checked(recv(there, bytes, sizeof bytes, MSG_WAITALL), "recv");
        checked(send(there, bytes, sizeof bytes, 0), "send");
        checked(recv(here, bytes, sizeof bytes, MSG_WAITALL), "recv");
    }
    close(here);
    recv(there, bytes, 1, 0);
    close(there);
    close(server);
}

static void do_refused(char **words) { close(client(atoi(words[0]), 0)); }

// The queue of who wants to connect is full, so that the last one has to ask again.
static void do_retransmit(char **words) {
    int server = listener(atoi(words[0]), 0);
    for (int i = 0; i < 4; i++) client(atoi(words[0]), SOCK_NONBLOCK);
    nap(2500);
    close(server);
}

static void do_resolve(char **words) {
    struct addrinfo *found = NULL;
    getaddrinfo(words[0], NULL, NULL, &found);
    if (found) freeaddrinfo(found);
}

// Terminals.

static int terminal(char *name, size_t room) {
    int master = checked(posix_openpt(O_RDWR | O_NOCTTY), "posix_openpt");
    checked(grantpt(master), "grantpt");
    checked(unlockpt(master), "unlockpt");
    checked(ptsname_r(master, name, room), "ptsname");
    return master;
}

static void do_terminal(char **words) {
    (void)words;
    char name[64], line[64];
    int master = terminal(name, sizeof name), slave = checked(open(name, O_RDWR | O_NOCTTY), name);
    for (int i = 0; i < 10; i++) {
        checked(write(master, "typed\n", 6), "write");
        checked(read(slave, line, sizeof line), "read");
    }
}

// Types a line into a shell that talks to a terminal.
static void do_shell(char **words) {
    char name[64], said[4096];
    int master = terminal(name, sizeof name);
    pid_t child = checked(fork(), "fork");
    if (child == 0) {
        setsid();
        int slave = checked(open(name, O_RDWR), name);
        for (int i = 0; i < 3; i++) dup2(slave, i);
        execl("/bin/bash", "bash", "--norc", "--noprofile", "-i", (char *)NULL);
        _exit(127);
    }
    dprintf(master, "%s\nexit\n", words[0]);
    while (read(master, said, sizeof said) > 0) continue;
    waitpid(child, NULL, 0);
}

// Markers.

static void do_mark(char **words) {
    for (long i = 0; i < 5; i++) {
        MARK("work", "step", i, words[0]);
        MARK("python", "function__entry", "marks.py", "marked");
        MARK("python", "gc__start", 2, 0);
        MARK("python", "gc__done", 7, 0);
    }
}

static const struct {
    const char *name;
    int words;
    void (*run)(char **);
} things[] = {
    {"open", 1, do_open},       {"missing", 1, do_missing}, {"write", 1, do_write},     {"reread", 1, do_reread},
    {"sync", 1, do_sync},       {"remove", 2, do_remove},   {"brief", 1, do_brief},     {"stat", 1, do_stat},
    {"mount", 1, do_mount},
    {"exec", 1, do_exec},       {"exit", 0, do_exit},       {"kill", 0, do_kill},       {"setuid", 1, do_setuid},
    {"thread", 0, do_thread},   {"sleep", 1, do_sleep},     {"spin", 1, do_spin},       {"migrate", 0, do_migrate},
    {"wake", 0, do_wake},       {"futex", 0, do_futex},     {"contend", 0, do_contend}, {"malloc", 1, do_malloc},
    {"touch", 1, do_touch},     {"major", 1, do_major},     {"put", 2, do_put},         {"oom", 1, do_oom},
    {"shm", 0, do_shm},         {"tcp", 1, do_tcp},         {"refused", 1, do_refused}, {"retransmit", 1, do_retransmit},
    {"resolve", 1, do_resolve}, {"terminal", 0, do_terminal}, {"shell", 1, do_shell},   {"mark", 1, do_mark},
    {"pipe", 0, do_pipe},
};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        if (argc < 2 || strcmp(argv[1], things[i].name) != 0) continue;
        if (argc - 2 < things[i].words) break;
        things[i].run(argv + 2);
        // What a tracer shows of addresses it looks up while the process is there.
        puts("done");
        fflush(stdout);
        while (getchar() != EOF) continue;
        return 0;
    }
    fprintf(stderr, "work: see the table at the end of work.c\n");
    return 2;
}
