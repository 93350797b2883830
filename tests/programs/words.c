// A program with something to see in a profile: reads files, counts their words, sorts them, writes a report, again and
// again until argv[1] milliseconds are over. Two threads; functions named for what they do; built with frame pointers.
//
//     words MILLISECONDS REPORT FILE ...
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 65536
#define WORD 24

struct slot { char word[WORD]; unsigned count; };
struct table { struct slot slots[SLOTS]; unsigned used; };
struct job { char **files; int count; const char *report; long end_ms; };

static long now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

__attribute__((noinline)) static uint32_t hash_word(const char *word) {
    uint32_t hash = 2166136261u;
    for (; *word; word++) hash = (hash ^ (unsigned char)*word) * 16777619u;
    return hash;
}

__attribute__((noinline)) static void count_word(struct table *table, const char *word) {
    uint32_t at = hash_word(word) % SLOTS;
    while (table->slots[at].count && strcmp(table->slots[at].word, word)) at = (at + 1) % SLOTS;
    if (!table->slots[at].count) {
        if (table->used > SLOTS / 2) return;
        table->used++;
        snprintf(table->slots[at].word, WORD, "%s", word);
    }
    table->slots[at].count++;
}

__attribute__((noinline)) static void split_words(struct table *table, const char *text, ssize_t length) {
    char word[WORD];
    int letters = 0;
    for (ssize_t i = 0; i <= length; i++) {
        if (i < length && isalpha((unsigned char)text[i])) {
            if (letters < WORD - 1) word[letters++] = (char)tolower((unsigned char)text[i]);
        } else if (letters) {
            word[letters] = 0;
            letters = 0;
            count_word(table, word);
        }
    }
}

__attribute__((noinline)) static void read_file(struct table *table, const char *path) {
    static __thread char buffer[4096];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;) split_words(table, buffer, got);
    close(file);
}

static int more_first(const void *a, const void *b) {
    const struct slot *left = a, *right = b;
    return left->count == right->count ? strcmp(left->word, right->word) : left->count < right->count ? 1 : -1;
}

__attribute__((noinline)) static void sort_words(struct table *table) {
    qsort(table->slots, SLOTS, sizeof(struct slot), more_first);
}

__attribute__((noinline)) static void write_report(const struct table *table, const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return;
    for (unsigned i = 0; i < table->used; i++) dprintf(file, "%u %s\n", table->slots[i].count, table->slots[i].word);
    fsync(file);
    close(file);
}

__attribute__((noinline)) static void make_report(const struct job *job) {
    struct table *table = calloc(1, sizeof *table);
    if (!table) return;
    for (int i = 0; i < job->count; i++) read_file(table, job->files[i]);
    sort_words(table);
    write_report(table, job->report);
    free(table);
}

static void *worker(void *argument) {
    const struct job *job = argument;
    while (now_ms() < job->end_ms) {
        make_report(job);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    char other[4096];
    snprintf(other, sizeof other, "%s.2", argv[2]);
    long end = now_ms() + atol(argv[1]);
    int half = (argc - 3) / 2;
    struct job jobs[2] = {{argv + 3, half ? half : 1, argv[2], end}, {argv + 3 + half, argc - 3 - half, other, end}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, worker, &jobs[i])) return 1;
        pthread_setname_np(threads[i], i ? "words-late" : "words-early");
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
