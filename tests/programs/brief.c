// Calls a function of its own and one of the C library, once each, and is gone.
#include <unistd.h>

__attribute__((noinline)) int brief_one(int value) { return value + 1; }

int main(void) {
    int value = brief_one(1);
    // Of the library that was mapped after the program's first instruction.
    return getppid() < value ? 1 : 0;
}
