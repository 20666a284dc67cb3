/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory in a sparse memfd: the memory of both kinds of chip. A chip process maps it; the host maps it too,
 * except under the copy transport, where it copies by pread and pwrite. The kernel copies an aligned word as one, and a
 * later call cannot begin before it is over.
 */
#include "sim/chip_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

int tl__sim_seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

static int map_memory(struct tl_chip *c, struct tl_error *reterr)
{
    const uint64_t bytes = c->memory.bytes;
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory_fd, 0);

    if (mapping == MAP_FAILED)
        return tl__fail(reterr, tl__code_of_errno(errno),
                        "cannot map %" PRIu64 " bytes of device memory: %s; less: --device-memory", bytes,
                        strerror(errno));
    c->mapping = mapping;
    /* Both are requests: huge pages where the system gives them to a memfd, and no device memory in core files. */
    (void)madvise(mapping, bytes, MADV_HUGEPAGE);
    (void)madvise(mapping, bytes, MADV_DONTDUMP);
    return 0;
}

int tl__chip_file_make(struct tl_chip *c, struct tl_error *reterr)
{
    assert(c->memory_fd < 0 && c->mapping == NULL); /* MI6 */
    c->memory_fd = memfd_create("tasklens-gm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (c->memory_fd < 0 || ftruncate(c->memory_fd, (off_t)c->memory.bytes) != 0 || tl__sim_seal(c->memory_fd) != 0)
        return tl__fail(reterr, tl__code_of_errno(errno),
                        "cannot make %" PRIu64 " bytes of device memory: %s; less: --device-memory", c->memory.bytes,
                        strerror(errno));
    if (c->opts.mode == TL_CHIP_PROCESS && c->opts.transport == TL_TRANSPORT_COPY)
        return 0;
    return map_memory(c, reterr);
}

void tl__chip_file_end(struct tl_chip *c, bool abandon)
{
    if (c->mapping != NULL && !abandon) {
        (void)munmap(c->mapping, c->memory.bytes);
        c->mapping = NULL;
    }
    if (c->memory_fd >= 0)
        (void)close(c->memory_fd);
    c->memory_fd = -1;
}

/* If the system does not take the pages, they only stay in use. */
void tl__chip_file_give_back(struct tl_chip *c, uint64_t at, uint64_t bytes)
{
    assert(bytes > 0 && at + bytes <= c->memory.bytes); /* MI3 */
    (void)fallocate(c->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

int tl__chip_file_copy_in(struct tl_chip *c, uint64_t at, const void *data, uint64_t bytes)
{
    const uint8_t *from = data;

    assert(at + bytes <= c->memory.bytes);
    if (c->mapping != NULL) {
        memcpy(c->mapping + at, data, bytes);
        return 0;
    }
    while (bytes > 0) {
        ssize_t n = pwrite(c->memory_fd, from, bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_EIO;
        from += n, at += (uint64_t)n, bytes -= (uint64_t)n;
    }
    return 0;
}

int tl__chip_file_copy_out(struct tl_chip *c, void *data, uint64_t at, uint64_t bytes)
{
    uint8_t *to = data;

    assert(at + bytes <= c->memory.bytes);
    if (c->mapping != NULL) {
        memcpy(to, c->mapping + at, bytes);
        return 0;
    }
    while (bytes > 0) {
        ssize_t n = pread(c->memory_fd, to, bytes, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TL_EIO;
        to += n, at += (uint64_t)n, bytes -= (uint64_t)n;
    }
    return 0;
}

int tl__chip_file_store(struct tl_chip *c, uint64_t at, uint64_t word)
{
    assert(at % sizeof(word) == 0);
    if (c->mapping != NULL) {
        tl_store_rel((tl_au64 *)(void *)(c->mapping + at), word); /* R2 R3 R4: as the mapped host's store */
        return 0;
    }
    tl_fence_rel(); /* R2 R3 R4 across processes: what was copied in before the word is there before it */
    return tl__chip_file_copy_in(c, at, &word, sizeof(word));
}

int tl__chip_file_load(struct tl_chip *c, uint64_t at, uint64_t *ret_word)
{
    int rc = 0;

    assert(at % sizeof(*ret_word) == 0);
    if (c->mapping != NULL) /* A1 A5 A6 A7 F4: what is copied out after the word; pairs with R1 R5 R6 R7 F3 */
        *ret_word = tl_load_acq((tl_au64 *)(void *)(c->mapping + at));
    else
        rc = tl__chip_file_copy_out(c, ret_word, at, sizeof(*ret_word));
    tl_fence_acq(); /* A1 A5 A6 A7 F4 across processes */
    return rc;
}
