// Waits for a line, then does one thing that a script changes, and says what came of it: `acts say TEXT`, `acts signalled`.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t taken;

static void take(int number) {
    (void)number;
    taken = 1;
}

__attribute__((noinline)) void say_this(const char *text) { puts(text); }

__attribute__((noinline)) void ask_for_signal(void) { __asm__ volatile(""); }

// Whether a signal waits for this thread, and not for any of the process.
static int waits_for_thread(void) {
    char line[256];
    unsigned long pending = 0;
    FILE *status = fopen("/proc/thread-self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "SigPnd: %lx", &pending) == 1) break;
    }
    if (status) fclose(status);
    return pending != 0;
}

// Only the main thread takes the signal: one that is for the process goes there, one that is for this thread stays.
static void *be_signalled(void *argument) {
    (void)argument;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    ask_for_signal();
    while (!taken && !waits_for_thread()) sched_yield();
    puts(taken ? "process" : "thread");
    return NULL;
}

int main(int argc, char **argv) {
    getchar();
    if (argc == 3 && strcmp(argv[1], "say") == 0) {
        say_this(argv[2]);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "signalled") == 0) {
        struct sigaction action = {.sa_handler = take, .sa_flags = SA_RESTART};
        sigaction(SIGUSR1, &action, NULL);
        pthread_t thread;
        if (pthread_create(&thread, NULL, be_signalled, NULL) == 0) pthread_join(thread, NULL);
        return 0;
    }
    return 2;
}
