/* SPDX-License-Identifier: Apache-2.0 */
/* A chip that is a process: what tools/chip calls. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "sim/chip.h"
#include "sim/crash.h"
#include "sim/serve.h"

static int receive(void *ctx, struct tl_mail *ret_mail)
{
    ssize_t n;

    (void)ctx;
    do {
        n = recv(TL_CHIP_FD_MAIL, ret_mail, sizeof(*ret_mail), 0);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*ret_mail) ? 0 : TL_EDEVICE;
}

static int answer(void *ctx, const struct tl_mail *mail)
{
    ssize_t n;

    (void)ctx;
    do {
        n = send(TL_CHIP_FD_MAIL, mail, sizeof(*mail), MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EBADF || errno == ENOTSOCK))
        tl_log_error("the program has closed the chip's mailbox, descriptor %d: the chip ends", TL_CHIP_FD_MAIL);
    return n == (ssize_t)sizeof(*mail) ? 0 : TL_EDEVICE;
}

/* Dies with the parent. If the parent died before this call, getppid() is no longer the number in the argument. */
static int follow_parent(const char *parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return TL_EIO;
    return (long)getppid() == strtol(parent, NULL, 10) ? 0 : TL_EDEVICE;
}

static void *map(int fd, uint64_t bytes)
{
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    (void)close(fd); /* the mapping keeps it */
    return mapping == MAP_FAILED ? NULL : mapping;
}

int tl__chip_main(int argc, char **argv, const char **ret_error)
{
    struct tl_server server = {.own_process = 1, .box = {.receive = receive, .send = answer}};

    *ret_error = NULL;
    if (argc != 5 || (server.arch = tl__arch_find(argv[1])) == NULL) {
        *ret_error = "this is the simulated chip; tasklens starts it by itself";
        return 2;
    }
    if (follow_parent(argv[4]) != 0)
        return 0; /* no host to serve */
    server.threads = (unsigned)strtoul(argv[2], NULL, 10);
    server.memory.bytes = strtoull(argv[3], NULL, 10);
    server.memory.base = map(TL_CHIP_FD_MEMORY, server.memory.bytes);
    server.bells = map(TL_CHIP_FD_BELLS, sizeof(*server.bells));
    if (server.threads == 0 || server.memory.base == NULL || server.bells == NULL ||
        server.bells->magic != TL_BELL_MAGIC) {
        *ret_error = "what the parent handed over is not a chip's memory";
        return 2;
    }
    (void)madvise(server.memory.base, server.memory.bytes, MADV_HUGEPAGE);
    (void)madvise(server.memory.base, server.memory.bytes, MADV_DONTDUMP);
    tl__crash_install(&server.memory);
    return tl__serve(&server) == 0 ? 0 : 3;
}

bool tl__chip_exit(const char *called, int code)
{
    return tl__crash_exit(called, code);
}

void tl__chip_kills_itself(void)
{
    tl__crash_kill();
}
