#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void said(const char *text, int which) { __asm__ volatile("" ::"r"(text), "r"(which) : "memory"); }
static int calls;
static void *talk(void *letter) {
    char text[1000];
    memset(text, (int)(long)letter, sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < calls; i++) said(text, (int)(long)letter);
    return 0;
}
int main(int count, char **words) {
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one);
    sched_setaffinity(0, sizeof one, &one);
    int threads = count > 1 ? atoi(words[1]) : 2; calls = count > 2 ? atoi(words[2]) : 100000;
    pthread_t all[64];
    for (int i = 0; i < threads; i++) pthread_create(&all[i], 0, talk, (void *)(long)('a' + i % 26));
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    return 0;
}
