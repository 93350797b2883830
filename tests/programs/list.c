// Walks a list whose content is known, so that its variables can be compared with what a probe reads of them.
#include <stdio.h>

enum kind { SMALL, LARGE };
struct node {
    struct node *next;
    int len;
    enum kind kind;
    unsigned low : 3, high : 5;
    const char *name;
    char text[8];
};
struct outer {
    struct node inner;
    struct node *first;
};

__attribute__((noinline, noclone)) long walk(struct node *first, short step, const struct outer *outer) {
    long total = outer->inner.len;
    for (struct node *at = first; at; at = at->next) {
        int twice = at->len * 2;
        __asm__ volatile("probed_line:"); // so that the place is found without a table of lines
        total += twice * step;
    }
    return total;
}

int main(void) {
    struct node last = { 0, 300, LARGE, 5, 17, "last of all", "third" };
    struct node middle = { &last, -20, SMALL, 2, 9, "middle", "second" };
    struct node first = { &middle, 1, LARGE, 7, 31, "first", "first" };
    struct outer outer = { last, &first };
    // A probe does not wait for a page that has not been read from the file yet.
    printf("%s %s %s\n", first.name, middle.name, last.name);
    printf("%ld\n", walk(&first, -3, &outer));
    return 0;
}
