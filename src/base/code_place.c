/* SPDX-License-Identifier: Apache-2.0 */
#include "base/code_place.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/symbol.h"

#define FRAMES_MAX 64
#define ANSWER_MS 5000
#define INLINED_MAX 4 /* frames shown */

/* ---- addresses ---- */

static int find_end(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct tl_code_object *o = arg;

    (void)size;
    if (info->dlpi_addr != o->base)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];

        if (h->p_type == PT_LOAD && o->base + h->p_vaddr + h->p_memsz > o->end)
            o->end = o->base + h->p_vaddr + h->p_memsz;
    }
    return 1;
}

void tl__code_object_of(struct tl_code_object *ret, const void *address)
{
    void *map = NULL, *frame[1];
    const struct link_map *m;
    Dl_info info;

    *ret = (struct tl_code_object){.path = ""};
    if (address == NULL || dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0 || map == NULL)
        return;
    m = map;
    ret->base = ret->end = m->l_addr;
    ret->path = m->l_name[0] != '\0' ? m->l_name : "/proc/self/exe";
    (void)dl_iterate_phdr(find_end, ret);
    (void)backtrace(frame, 1); /* the first call loads the unwinder, which a handler must not */
}

void tl__code_registers(const void *context, uint64_t *ret_code, uint64_t *ret_stack)
{
    const ucontext_t *c = context;

    *ret_code = *ret_stack = 0;
#if defined(__x86_64__)
    *ret_code = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
    *ret_stack = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    *ret_code = c->uc_mcontext.pc;
    *ret_stack = c->uc_mcontext.sp;
#else
    (void)c;
#endif
}

struct tl_code_place tl__code_at(const struct tl_code_object *object, uint64_t code)
{
    struct tl_code_place place = {0};

    place.known = code >= object->base && code < object->end;
    if (place.known)
        place.offset = code - object->base;
    return place;
}

struct tl_code_place tl__code_here(const struct tl_code_object *object, uint64_t jumped)
{
    struct tl_code_place place = {0};
    void *frames[FRAMES_MAX];
    int n = jumped == 0 ? backtrace(frames, FRAMES_MAX) : 0; /* it would read code at the place that the jump led to */

    if (jumped != 0)
        place = tl__code_at(object, *(const uint64_t *)(uintptr_t)jumped - 1);
    for (int i = 0; i < n && !place.known; i++)
        place = tl__code_at(object, (uint64_t)(uintptr_t)frames[i] - 1); /* a call returns to what follows it */
    place.calls = place.known;
    return place;
}

/* ---- addr2line ---- */

/* In the child: runs the first addr2line on the PATH, and nothing else of the environment. */
static void run_addr2line(const char *path, uint64_t offset)
{
    static const char *const names[] = {"/addr2line", "/llvm-addr2line", "/llvm-addr2line-14"};
    char program[1024], address[24];
    const char *dirs = getenv("PATH");
    struct tl_text a = tl__text(address, sizeof(address));
    const char *const argv[] = {"addr2line", "-f", "-i", "-C", "-e", path, address, NULL};
    const char *const envp[] = {"LC_ALL=C.UTF-8", NULL};

    tl__text_hex(&a, offset, 1);
    if (dirs == NULL)
        dirs = "/usr/bin:/bin";
    for (unsigned i = 0; i < COUNT_OF(names); i++)
        for (const char *dir = dirs; *dir != '\0';) {
            size_t n = strcspn(dir, ":");

            if (n > 0 && n + 32 < sizeof(program)) {
                struct tl_text p = {program, sizeof(program), n};

                memcpy(program, dir, n);
                tl__text_put(&p, names[i]);
                (void)syscall(SYS_execve, program, argv, envp); /* the function may be the program's */
            }
            dir += n + (dir[n] == ':');
        }
    (void)syscall(SYS_exit_group, 127);
}

/* What it writes until it ends or its time is over. */
static size_t read_answer(int fd, char *answer, size_t size)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    size_t used = 0;

    while (used + 1 < size && poll(&ready, 1, ANSWER_MS) > 0) {
        ssize_t n = read(fd, answer + used, size - 1 - used);

        if (n <= 0)
            break;
        used += (size_t)n;
    }
    answer[used] = '\0';
    return used;
}

/* Its lines: a function, then FILE:LINE, for each frame. Empty: it is not there, or knows nothing. */
static void ask_addr2line(const char *path, uint64_t offset, char *answer, size_t size)
{
    int ends[2], status;
    pid_t child;

    answer[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    child = _Fork(); /* fork() runs handlers that may wait for a lock */
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDERR_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        run_addr2line(path, offset);
    }
    (void)close(ends[1]);
    if (child > 0) {
        (void)read_answer(ends[0], answer, size);
        (void)syscall(SYS_kill, child, SIGKILL); /* what has not answered yet will not be waited for */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    (void)close(ends[0]);
}

/* ---- text ---- */

/* Text of a file that is not ours: without what a terminal would take for a command. */
static void put_shown(struct tl_text *t, const char *text, size_t n)
{
    char one[2] = "";

    for (size_t i = 0; i < n; i++) {
        one[0] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
        tl__text_put(t, one);
    }
}

static void put_function(struct tl_text *t, const char *name, size_t n)
{
    put_shown(t, name, n);
    if (memchr(name, '(', n) == NULL) /* a C++ name has its parameters */
        tl__text_put(t, "()");
}

/* As the user would name it: relative to the working directory if it is in there. */
static void put_file(struct tl_text *t, const char *file, size_t n)
{
    char cwd[1024];
    size_t skip = getcwd(cwd, sizeof(cwd)) != NULL ? strlen(cwd) : 0;
    const char *end;

    if (skip > 1 && n > skip + 1 && strncmp(file, cwd, skip) == 0 && file[skip] == '/') {
        file += skip + 1;
        n -= skip + 1;
    }
    end = memmem(file, n, " (discriminator", 15);
    put_shown(t, file, end != NULL ? (size_t)(end - file) : n);
}

/* "FILE:LINE" with a line in it. */
static bool is_line(const char *text, size_t n)
{
    const char *colon = memrchr(text, ':', n);

    return colon != NULL && colon != text && colon[1] >= '1' && colon[1] <= '9' && text[0] != '?';
}

/* False: no line is known. */
static bool put_lines(struct tl_text *t, const char *answer)
{
    unsigned shown = 0;

    while (*answer != '\0' && shown < INLINED_MAX) {
        size_t name = strcspn(answer, "\n"), line;
        const char *second = answer + name + (answer[name] != '\0');

        line = strcspn(second, "\n");
        if (!is_line(second, line))
            break;
        tl__text_put(t, shown == 0 ? "" : ", inlined in ");
        if (answer[0] != '?') {
            put_function(t, answer, name);
            tl__text_put(t, ", ");
        }
        put_file(t, second, line);
        shown++;
        answer = second + line + (second[line] != '\0');
    }
    return shown > 0;
}

static const char *no_line(const char *answer)
{
    return answer[0] == '\0' ? "the source line is named where addr2line (Debian: binutils) is installed"
                             : "the source line is named for code that is compiled with -g, as `tasklens run FILE.c "
                               "--debug` does";
}

void tl__code_put(struct tl_text *t, const char *path, const char *shown, const struct tl_code_place *place)
{
    char answer[4096] = "", name[256] = "";
    uint64_t in_function;
    bool has_lines;

    tl__text_put(t, place->calls ? "called from: " : "the code: ");
    ask_addr2line(path, place->offset, answer, sizeof(answer));
    has_lines = put_lines(t, answer);
    if (!has_lines && tl__symbol_find(path, place->offset, name, sizeof(name), &in_function)) {
        size_t n = strcspn(answer, "\n"); /* a C++ name is readable in there */

        if (n > 0 && answer[0] != '?')
            put_function(t, answer, n);
        else
            put_function(t, name, strlen(name));
        tl__text_put(t, "+");
        tl__text_hex(t, in_function, 1);
    }
    if (shown != NULL) {
        if (t->at[t->used - 1] != ' ')
            tl__text_put(t, "; ");
        put_shown(t, shown, strlen(shown));
        tl__text_put(t, "+");
        tl__text_hex(t, place->offset, 1);
    }
    if (!has_lines) {
        tl__text_put(t, t->at[t->used - 1] != ' ' ? "; " : "");
        tl__text_put(t, no_line(answer));
    }
}
