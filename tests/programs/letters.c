// What options of strace show: sockets, pipes, threads, a program that a child executes with words of pages that it has not
// touched, bytes that are not printable.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void nothing(int number) { (void)number; }

static void *made(void *unused) {
    (void)unused;
    return 0;
}

static void connect_to_self(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind(listening, (struct sockaddr *)&address, sizeof address);
    listen(listening, 1);
    getsockname(listening, (struct sockaddr *)&address, &length);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connect(client, (struct sockaddr *)&address, sizeof address);
    int server = accept4(listening, 0, 0, SOCK_CLOEXEC);
    write(client, "to the server", 13);
    char bytes[32];
    read(server, bytes, sizeof bytes);
    close(server);
    close(client);
    close(listening);
}

int main(void) {
    int ends[2], pair[2];
    char bytes[8];
    pipe2(ends, O_CLOEXEC);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    write(ends[1], "\0008\0009\0007\n\377", 8);
    read(ends[0], bytes, sizeof bytes);
    write(pair[0], "printable\n", 10);
    close(pair[0]);
    close(pair[1]);
    close(ends[0]);
    close(ends[1]);
    connect_to_self();
    signal(SIGUSR1, nothing);
    signal(SIGUSR2, nothing);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    struct stat found;
    stat("a", &found);
    stat("/dev/null", &found);
    int file = open("a", O_RDONLY);
    read(file, bytes, sizeof bytes);
    close(file);
    int device = open("/dev/null", O_RDONLY);
    read(device, bytes, 1);
    close(device);
    close(syscall(SYS_pidfd_open, getpid(), 0));
    // Told when the child is gone, and neither while it is waited for nor before: that would be the scheduler's choice.
    sigset_t child_ends;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    signal(SIGCHLD, nothing);
    sigprocmask(SIG_BLOCK, &child_ends, 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "a first word", "two\twords", (char *)0);
        _exit(1);
    }
    waitpid(child, 0, 0);
    sigprocmask(SIG_UNBLOCK, &child_ends, 0);
    pthread_t thread;
    pthread_create(&thread, 0, made, 0);
    pthread_join(thread, 0);
    return 0;
}
