// Burns CPU in functions whose names and nesting are known, until it has been running for argv[1] milliseconds.
// Built with frame pointers, so that a profiler finds whole stacks.
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

__attribute__((noinline)) void spin_inner(void) {
    for (int i = 0; i < 1000000; i++) sink += i;
    __asm__ volatile("");
}

__attribute__((noinline)) void spin_middle(void) {
    spin_inner();
    __asm__ volatile("");
}

__attribute__((noinline)) void spin_outer(void) {
    spin_middle();
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    long end = now_ms() + (argc > 1 ? atol(argv[1]) : 1000);
    while (now_ms() < end) spin_outer();
    return 0;
}
