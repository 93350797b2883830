/* Makes system calls of 32-bit programs: by `int $0x80`, whatever it is compiled for. Where that is 64 bits it makes some of
 * 64-bit programs and of x32 too. It has no C library, so that all calls are its own, and all it points to is below 4 GiB. */
typedef unsigned int word;

static long call(word number, word a, word b, word c, word d, word e)
{
    long result;
#ifdef __x86_64__
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "0"((long)number), "b"((long)a), "c"((long)b), "d"((long)c), "S"((long)d), "D"((long)e)
                     : "memory", "r8", "r9", "r10", "r11");
#else
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory");
#endif
    return result;
}

#ifdef __x86_64__
static long wide(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c) : "memory", "rcx", "r11");
    return result;
}
#endif

#define AT(place) ((word)(unsigned long)(place))
static char path[] = "/etc/hostname", missing[] = "/nowhere/bathyscope", text[] = "from 32 bits\n", more[] = "more";
static char shell[] = "/bin/true";
static char buffer[512];
static word vectors[4], block[6], pair[2], times[4], limits[4], action[5], lock[8], pieces[8];
static unsigned short name[56];

static void files(void)
{
    long fd = call(5, AT(path), 0, 0, 0, 0);          /* open */
    call(5, AT(missing), 0, 0, 0, 0);
    call(3, fd, AT(buffer), 1, 0, 0);                 /* read */
    call(140, fd, 1, 2, AT(pair), 0);                 /* _llseek */
    call(19, fd, 0, 0, 0, 0);                         /* lseek */
    call(197, fd, AT(buffer), 0, 0, 0);               /* fstat64 */
    call(195, AT(path), AT(buffer), 0, 0, 0);         /* stat64 */
    call(106, AT(path), AT(buffer), 0, 0, 0);         /* stat */
    call(180, fd, AT(buffer), 1, 0, 0);               /* pread64 */
    vectors[0] = AT(text), vectors[1] = 13, vectors[2] = AT(more), vectors[3] = 4;
    call(146, 99, AT(vectors), 2, 0, 0);              /* writev */
    vectors[0] = AT(buffer), vectors[1] = 1;
    call(145, fd, AT(vectors), 1, 0, 0);              /* readv */
    lock[0] = 1, lock[1] = 3, lock[2] = 4;
    call(221, 99, 6, AT(lock), 0, 0);                 /* fcntl64 */
    call(221, 99, 13, AT(lock), 0, 0);
    call(6, fd, 0, 0, 0, 0);                          /* close */
    call(192, 0, 4096, 3, 0x22, (word)-1);            /* mmap2; the sixth is what is there */
    block[0] = 0, block[1] = 8192, block[2] = 1, block[3] = 0x22, block[4] = (word)-1, block[5] = 0;
    call(90, AT(block), 0, 0, 0, 0);                  /* mmap */
}

static void sockets(void)
{
    block[0] = 1, block[1] = 1, block[2] = 0, block[3] = AT(pair);
    call(102, 8, AT(block), 0, 0, 0);                 /* socketpair */
    long one = pair[0], other = pair[1];
    block[0] = one, block[1] = AT(text), block[2] = 13, block[3] = 0;
    call(102, 9, AT(block), 0, 0, 0);                 /* send */
    block[0] = other, block[1] = AT(buffer), block[2] = 100, block[3] = 0;
    call(102, 10, AT(block), 0, 0, 0);                /* recv */
    vectors[0] = AT(more), vectors[1] = 4;
    pieces[2] = AT(vectors), pieces[3] = 1;
    call(370, one, AT(pieces), 0, 0, 0);              /* sendmsg */
    block[0] = 2, block[1] = 2, block[2] = 0;
    long internet = call(102, 1, AT(block), 0, 0, 0); /* socket */
    name[0] = 2, name[1] = 0x3412;
    block[0] = internet, block[1] = AT(name), block[2] = 16;
    call(102, 3, AT(block), 0, 0, 0);                 /* connect */
    call(6, one, 0, 0, 0, 0);
}

static void others(void)
{
    call(20, 0, 0, 0, 0, 0);                          /* getpid */
    call(24, 0, 0, 0, 0, 0);                          /* getuid */
    call(199, 0, 0, 0, 0, 0);                         /* getuid32 */
    call(212, AT(missing), (word)-1, 7, 0, 0);        /* chown32 */
    times[1] = 1000;
    call(162, AT(times), 0, 0, 0, 0);                 /* nanosleep */
    times[0] = 0, times[1] = 0, times[2] = 1000, times[3] = 0;
    call(407, 1, 0, AT(times), 0, 0);                 /* clock_nanosleep_time64 */
    call(191, 7, AT(limits), 0, 0, 0);                /* ugetrlimit */
    call(340, 0, 4, 0, AT(limits), 0);                /* prlimit64 */
    action[0] = 1;
    call(174, 10, AT(action), AT(buffer), 8, 0);      /* rt_sigaction */
    call(117, 23, 0x7b, 4096, 0600, 0);               /* shmget through ipc */
    call(7, (word)-1, AT(buffer), 1, 0, 0);           /* waitpid */
}

void _start(void)
{
    files();
    sockets();
    others();
#ifdef __x86_64__
    wide(39, 0, 0, 0);
    wide(0x40000000 + 39, 0, 0, 0);
    wide(0x40000000 + 516, 99, (long)vectors, 1);
    call(20, 0, 0, 0, 0, 0);
#endif
    block[0] = AT(shell), block[1] = AT(more), block[2] = 0;
    call(11, AT(shell), AT(block), 0, 0, 0);          /* execve */
    call(1, 3, 0, 0, 0, 0);                           /* exit */
}
