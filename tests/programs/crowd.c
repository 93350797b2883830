// Threads on one processor that all call one function, each with a long text of its own letter: `crowd THREADS CALLS`.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, LENGTH = 1000 };

static long calls;

__attribute__((noinline)) void said(const char *text, int letter) {
    __asm__ volatile("" ::"r"(text), "r"(letter) : "memory");
}

static void *talk(void *letter) {
    char text[LENGTH];
    memset(text, (int)(long)letter, LENGTH - 1);
    text[LENGTH - 1] = 0;
    for (long i = 0; i < calls; i++) said(text, (int)(long)letter);
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    int threads = atoi(words[1]);
    calls = atol(words[2]);
    if (threads < 1 || threads > MOST) return 2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return 1;
    pthread_t all[MOST];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, talk, (void *)(long)('a' + i % 26))) return 1;
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    return 0;
}
