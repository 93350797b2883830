/* Makes what strace writes in its own ways: signals, ends of children, sets of descriptors, messages, entries of folders. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void caught(int number) { (void)number; }

static void signals(void) {
    struct sigaction action = { .sa_handler = caught };
    int numbers[] = { SIGHUP, SIGUSR1, SIGUSR2, SIGTERM, SIGCHLD, SIGPIPE, SIGALRM, SIGRTMIN + 2 };
    for (unsigned at = 0; at < sizeof numbers / sizeof *numbers; at++) sigaction(numbers[at], &action, 0);
    kill(getpid(), SIGUSR1);
    raise(SIGTERM);
    union sigval value = { .sival_int = 5 };
    sigqueue(getpid(), SIGUSR2, value);
    sigqueue(getpid(), SIGRTMIN + 2, value);
    timer_t timer;
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value = { .sival_int = 7 } };
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec once = { .it_value = { 0, 20000000 } };
    timer_settime(timer, 0, &once, 0);
    pause();
    int pair[2];
    if (pipe(pair) != 0) return;
    close(pair[0]);
    char byte = 0;
    if (write(pair[1], &byte, 1) < 0) close(pair[1]);
}

static void children(void) {
    /* Not before it is waited for. */
    struct timespec moment = { 0, 300000000 };
    if (fork() == 0) {
        nanosleep(&moment, 0);
        _exit(3);
    }
    wait(0);
    int pair[2];
    if (pipe(pair) != 0) return;
    pid_t reader = fork();
    if (reader == 0) {
        char byte;
        _exit(read(pair[0], &byte, 1) == 1);
    }
    /* Until it reads. */
    nanosleep(&moment, 0);
    /* Its end is told behind the wait, however fast it ends. */
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, 0);
    kill(reader, SIGKILL);
    wait(0);
    sigprocmask(SIG_UNBLOCK, &child, 0);
}

static void messages(int one, int other) {
    char buffer[] = "hello\nworld", room[100], beside[CMSG_SPACE(sizeof(int))] = { 0 }, name[128];
    struct iovec vectors[] = { { buffer, 5 }, { buffer + 5, 6 } }, all = { room, sizeof room };
    struct msghdr message = { .msg_iov = vectors, .msg_iovlen = 2, .msg_control = beside, .msg_controllen = sizeof beside };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_len = CMSG_LEN(sizeof(int));
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(header), &one, sizeof one);
    sendmsg(one, &message, 0);
    message.msg_control = 0;
    message.msg_controllen = 0;
    sendmsg(one, &message, MSG_DONTWAIT);
    struct msghdr got = { name, sizeof name, &all, 1, beside, sizeof beside, 0 };
    recvmsg(other, &got, 0);
    struct msghdr plain = { .msg_iov = &all, .msg_iovlen = 1 };
    recvmsg(other, &plain, 0);
    recvmsg(other, &plain, MSG_DONTWAIT);
}

static void sets(int one, int other) {
    fd_set reads, writes;
    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_SET(other, &reads);
    FD_SET(one, &writes);
    FD_SET(other, &writes);
    struct timeval time = { 5, 0 };
    syscall(SYS_pselect6, other + 1, &reads, &writes, 0, 0, 0);
    select(other + 1, &reads, &writes, 0, &time);
    char byte = 0;
    if (write(one, &byte, 1) == 1) {
        FD_ZERO(&reads);
        FD_SET(other, &reads);
        // What the first one left of it differs from run to run.
        time = (struct timeval){ 5, 0 };
        select(other + 1, &reads, 0, 0, &time);
        if (read(other, &reads, 1) != 1) return;
    }
    FD_ZERO(&reads);
    FD_SET(other, &reads);
    struct timeval soon = { 0, 1000 };
    select(other + 1, &reads, 0, 0, &soon);
    FD_ZERO(&reads);
    FD_SET(63, &reads);
    select(64, &reads, 0, 0, 0);
}

int main(int count, char **words) {
    signals();
    children();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return 1;
    messages(pair[0], pair[1]);
    sets(pair[0], pair[1]);
    static char entries[32768];
    int folder = open("/etc", O_RDONLY | O_DIRECTORY);
    while (syscall(SYS_getdents64, folder, entries, sizeof entries) > 0) {}
    syscall(SYS_getdents64, -1, entries, sizeof entries);
    if (count > 1 && strcmp(words[1], "kill") == 0) kill(getpid(), SIGKILL);
    *(volatile int *)8 = 0;
    return 0;
}
