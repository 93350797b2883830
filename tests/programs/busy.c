// A load that says how much it did: `busy spin SECONDS` counts turns of a loop, `busy pairs N SECONDS` how often N pairs of
// processes handed a byte to each other and back through pipes. Prints the number.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static unsigned long spin(double end) {
    unsigned long turns = 0;
    for (; now_s() < end; turns++)
        for (int i = 0; i < 100000; i++) sink += i;
    return turns;
}

// One process answers, this one asks until the end.
static unsigned long pair(double end) {
    int there[2], back[2];
    char byte = 0;
    if (pipe(there) || pipe(back)) exit(1);
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        close(there[1]);
        close(back[0]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {}
        _exit(0);
    }
    close(there[0]);
    close(back[1]);
    unsigned long turns = 0;
    while (now_s() < end && write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1) turns++;
    close(there[1]);
    waitpid(child, NULL, 0);
    return turns;
}

static unsigned long pairs(int count, double end) {
    int told[2];
    if (pipe(told)) exit(1);
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) exit(1);
        if (child == 0) {
            unsigned long turns = pair(end);
            _exit(write(told[1], &turns, sizeof turns) != sizeof turns);
        }
    }
    close(told[1]);
    unsigned long turns, sum = 0;
    while (read(told[0], &turns, sizeof turns) == sizeof turns) sum += turns;
    while (wait(NULL) > 0) {}
    return sum;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc == 3 && !strcmp(argv[1], "spin")) {
        printf("%lu\n", spin(now_s() + atof(argv[2])));
    } else if (argc == 4 && !strcmp(argv[1], "pairs")) {
        printf("%lu\n", pairs(atoi(argv[2]), now_s() + atof(argv[3])));
    } else {
        fprintf(stderr, "usage: busy spin SECONDS | busy pairs N SECONDS\n");
        return 2;
    }
    return 0;
}
