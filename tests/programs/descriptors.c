// Descriptors of all kinds, used and closed: sockets of Unix, of the network and of netlink, devices, files that are removed and
// renamed, memory, pipes, copies of descriptors, vectors and messages. Runs where there is a file `a`.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static char bytes[64];
static struct iovec vector[2] = {{"ab", 2}, {"cdef", 4}};

static void local(void) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "x", 1);
    read(pair[1], bytes, 1);
    close(pair[0]);
    close(pair[1]);
    struct sockaddr_un address = {AF_UNIX, "sock"};
    int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listening, (struct sockaddr *)&address, sizeof address);
    listen(listening, 1);
    int client = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(client, (struct sockaddr *)&address, sizeof address);
    int server = accept(listening, 0, 0);
    write(client, "hey", 3);
    read(server, bytes, 3);
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = 2};
    sendmsg(client, &message, 0);
    recv(server, bytes, 6, 0);
    close(server);
    close(client);
    close(listening);
    unlink("sock");
    struct sockaddr_un hidden = {AF_UNIX, "\0descriptors"};
    int bound = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(bound, (struct sockaddr *)&hidden, sizeof(sa_family_t) + 12);
    close(bound);
}

static void network(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    bind(listening, (struct sockaddr *)&address, sizeof address);
    listen(listening, 1);
    getsockname(listening, (struct sockaddr *)&address, &length);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    connect(client, (struct sockaddr *)&address, sizeof address);
    int server = accept(listening, 0, 0);
    write(client, "hey", 3);
    read(server, bytes, 3);
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    connect(datagrams, (struct sockaddr *)&address, sizeof address);
    write(datagrams, "u", 1);
    close(datagrams);
    close(server);
    close(client);
    close(listening);
    struct sockaddr_nl netlink = {.nl_family = AF_NETLINK};
    int asking = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    bind(asking, (struct sockaddr *)&netlink, sizeof netlink);
    length = sizeof netlink;
    getsockname(asking, (struct sockaddr *)&netlink, &length);
    close(asking);
}

int main(void) {
    local();
    network();
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    read(zero, bytes, 2);
    write(null, bytes, 2);
    writev(null, vector, 2);
    close(zero);
    int file = open("removed", O_CREAT | O_RDWR, 0600);
    unlink("removed");
    write(file, "q", 1);
    close(file);
    file = open("first", O_CREAT | O_RDWR, 0600);
    rename("first", "second");
    write(file, "q", 1);
    int copy = dup(file);
    close(file);
    write(copy, "r", 1);
    dup2(null, copy);
    write(copy, "s", 1);
    close(copy);
    unlink("second");
    int events = epoll_create1(0), event = eventfd(0, 0), memory = memfd_create("name", 0);
    write(memory, "k", 1);
    close(events);
    close(event);
    close(memory);
    int ends[2];
    pipe(ends);
    write(ends[1], "p", 1);
    close(ends[0]);
    close(ends[1]);
    int folder = open("/", O_RDONLY | O_DIRECTORY), here = open(".", O_RDONLY | O_DIRECTORY);
    fchdir(folder);
    int root = openat(folder, "etc/passwd", O_RDONLY);
    fchdir(here);
    int a = open("a", O_RDONLY);
    read(a, bytes, 3);
    read(root, bytes, 4);
    close_range(folder, a, 0);
    read(a, bytes, 3);
    return 0;
}
