// Functions that call one another and keep no frame pointers: who called is only found by unwind tables. Prints a line when
// it begins and goes on until its input ends.
#pragma GCC optimize("O1", "omit-frame-pointer", "asynchronous-unwind-tables")

#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTION __attribute__((noinline)) static

static volatile int busy;

FUNCTION int f6(int rounds) {
    for (int round = 0; round < rounds; round++)
        busy += round;
    // Without a library's function in between.
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
    return (int)result + 1;
}

FUNCTION int f5(int rounds) { return f6(rounds) + 1; }
// Its frame is larger than others, and it needs rbp for itself.
FUNCTION int f4(int rounds) {
    volatile char room[600];
    room[rounds % 600] = 1;
    __asm__ volatile("xor %%ebp, %%ebp" ::: "rbp");
    return f5(rounds) + room[0];
}
FUNCTION int f3(int rounds) { return f4(rounds) + 1; }
FUNCTION int f2(int rounds) { return f3(rounds) + 1; }
FUNCTION int f1(int rounds) { return f2(rounds) + 1; }

int main(void) {
    puts("begun");
    fflush(stdout);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    int sum = 0;
    while (poll(&input, 1, 0) == 0)
        for (int round = 0; round < 100; round++)
            sum += f1(10000);
    return sum == 1;
}
