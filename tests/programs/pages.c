// Writes once to each of 200 pages of its own at an address that is the same every time, in a known order.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#define START ((char *)0x100000000000)
#define PAGES 200
#define PAGE_BYTES 4096

int main(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    char *pages = mmap(START, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pages != START) return 1;
    // Else one fault could fill many pages.
    if (madvise(pages, PAGES * PAGE_BYTES, MADV_NOHUGEPAGE) != 0) return 2;
    for (uintptr_t page = 0; page < PAGES; page++)
        *(volatile char *)(pages + page * PAGE_BYTES + page * 16) = 1;
    return 0;
}
