/* SPDX-License-Identifier: Apache-2.0 */
/* A program's tables, checked entry by entry, and what is given in place of a program. */
#include <stdarg.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "host/compile.h"
#include "host/files.h"
#include "host/loader.h"

static char dir[] = "/tmp/tasklens-loader-XXXXXX";

static void kernel(const struct tl_kernel_args *k)
{
    (void)k;
}

static void orchestrate(struct tl_orch *o, const struct tl_program_args *in)
{
    (void)o;
    (void)in;
}

static int prepare(struct tl_data *d)
{
    (void)d;
    return 0;
}

static struct tl_kernel kernels[2];
static struct tl_program program;

static int good_program(void **state)
{
    const struct tl_kernel a = TL_KERNEL(0, "a", TL_AIV, kernel, TL_IN, TL_OUT, TL_SCALAR);
    const struct tl_kernel b = TL_KERNEL(7, "b", TL_AIC, kernel, TL_INOUT);
    const struct tl_program p = {.struct_size = sizeof(p),
                                 .api_version = TL_PROGRAM_API,
                                 .name = "p",
                                 .kernels = kernels,
                                 .n_kernels = 2,
                                 .orchestrate = orchestrate,
                                 .prepare = prepare};

    (void)state;
    kernels[0] = a;
    kernels[1] = b;
    program = p;
    return 0;
}

static void expect(int code, const char *part)
{
    struct tl_error err = {.msg = ""};

    assert_int_equal(tl__program_check(&program, "p.so", &err), code);
    if (strstr(err.msg, part) == NULL || strncmp(err.msg, "p.so: ", 6) != 0 || strchr(err.msg, '\n') != NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.msg, part);
    good_program(NULL);
}

static void each_fault_has_its_message(void **state)
{
    (void)state;
    assert_int_equal(tl__program_check(&program, "p.so", NULL), 0);
    program.api_version = 2;
    expect(TL_EVERSION, "program API 2");
    program.struct_size--;
    expect(TL_EVERSION, "compile it again");
    program.name = NULL;
    expect(TL_ELOAD, "no name");
    program.name = "../x";
    expect(TL_ELOAD, "no name");
    program.orchestrate = NULL;
    expect(TL_ELOAD, "no orchestrate()");
    program.n_kernels = 0;
    expect(TL_ELOAD, "no kernels");
    program.n_params = 65;
    expect(TL_ELOAD, "64 parameters");
    program.n_cases = 1;
    expect(TL_ELOAD, "cases");
    kernels[1].fn = NULL;
    expect(TL_ELOAD, "kernel b has no function");
    kernels[1].func_id = 0;
    expect(TL_ELOAD, "kernels a and b have the same func_id 0");
    kernels[0].func_id = -1;
    expect(TL_ELOAD, "negative func_id");
    kernels[0].name = NULL;
    expect(TL_ELOAD, "kernel number 0 has no name");
    kernels[0].core = (enum tl_core)5;
    expect(TL_ELOAD, "no core");
    kernels[0].signature[0] = TL_SCALAR;
    expect(TL_ELOAD, "SCALAR before a tensor at entry 1");
    kernels[0].signature[1] = 9;
    expect(TL_ELOAD, "no direction");
    memset(kernels[1].signature, TL_IN, 17);
    kernels[1].signature_count = 17;
    expect(TL_ELOAD, "more than 16 tensors");
    kernels[1].signature_count = 200;
    expect(TL_ELOAD, "more than 48 entries");
}

static void write_file(const char *name, const char *text)
{
    char path[300];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int open_named(const char *name, struct tl_error *err)
{
    struct tl_object object;
    char path[300];
    int rc;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    rc = tl__object_open(path, &object, err);
    if (rc == 0)
        tl__object_close(&object);
    return rc;
}

static void what_is_no_program_says_so(void **state)
{
    struct tl_error err;

    (void)state;
    assert_int_equal(open_named("absent.so", &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "absent.so: No such file"));
    assert_int_equal(open_named("", &err), TL_ELOAD);
    write_file("text.so", "this is text\n");
    assert_int_equal(open_named("text.so", &err), TL_ELOAD);
    assert_non_null(strstr(err.msg, "not a program"));
}

static const char tiny[] =
    "#include <tasklens/program.h>\n"
    "static void k(const struct tl_kernel_args *a) { (void)a; }\n"
    "static void o(struct tl_orch *a, const struct tl_program_args *b) { (void)a; (void)b; }\n"
    "static int p(struct tl_data *d) { (void)d; return 0; }\n"
    "static const struct tl_kernel ks[] = {TL_KERNEL(0, \"k\", TL_AIV, k, TL_IN)};\n"
    "TL_PROGRAM(.name = \"tiny\", .kernels = ks, .n_kernels = 1, .orchestrate = o, .prepare = p);\n";

static void a_c_file_is_compiled_loaded_and_kept(void **state)
{
    char source[300], object_path[4096], kept[300];
    struct tl_object object;
    struct tl_error err = {.msg = ""};
    uint64_t hash = 0;
    struct stat st;
    int lock;

    (void)state;
    setenv("TASKLENS_INCLUDE", TL_TEST_SOURCE_DIR "/include", 1);
    write_file("tiny.c", tiny);
    (void)snprintf(source, sizeof(source), "%s/tiny.c", dir);
    if (tl__compile(source, object_path, sizeof(object_path), &lock, &err) != 0)
        fail_msg("%s", err.msg);
    if (tl__object_open(object_path, &object, &err) != 0)
        fail_msg("%s", err.msg);
    assert_string_equal(object.program->name, "tiny");
    assert_int_equal(tl__object_keep(&object, dir, &err), 0);
    (void)snprintf(kept, sizeof(kept), "%s/program/tiny.so", dir);
    assert_int_equal(tl__file_hash(kept, &hash, NULL), 0);
    assert_true(hash == object.hash && hash != 0);

    /* Changed on disk since it was loaded: what is kept would not be what ran. */
    assert_int_equal(unlink(object_path), 0);
    assert_int_equal(tl__file_copy(source, object_path, &hash, NULL), 0);
    assert_int_equal(tl__object_keep(&object, dir, &err), TL_EIO);
    assert_non_null(strstr(err.msg, "changed after it was loaded"));
    assert_int_equal(stat(kept, &st), -1);
    tl__object_close(&object);
    tl__compile_discard(object_path, lock);
    assert_int_equal(stat(object_path, &st), -1);
}

static void a_c_file_that_does_not_compile_is_refused(void **state)
{
    char source[300], object_path[4096];
    struct tl_error err;
    int lock;

    (void)state;
    write_file("bad.c", "#error on purpose\n");
    (void)snprintf(source, sizeof(source), "%s/bad.c", dir);
    assert_int_equal(tl__compile(source, object_path, sizeof(object_path), &lock, &err), TL_ELOAD);
    assert_non_null(strstr(err.msg, "bad.c does not compile"));
    assert_int_equal(tl__compile("/nowhere/x.c", object_path, sizeof(object_path), &lock, &err), TL_ENOENT);
    setenv("CC", "/nowhere/cc", 1);
    assert_int_equal(tl__compile(source, object_path, sizeof(object_path), &lock, &err), TL_ELOAD);
    assert_non_null(strstr(err.msg, "/nowhere/cc"));
    unsetenv("CC");
}

/* A process that is killed leaves its compiled program behind, and the next to compile one removes it; but not that of
 * a process that lives, or what is not of this kind. */
static void a_killed_process_leaves_no_compiled_program(void **state)
{
    char source[300], dead[4096] = "", living[4096], mine[4096], other[320];
    int lock, living_lock, out[2], status;
    pid_t pid;

    (void)state;
    setenv("TASKLENS_INCLUDE", TL_TEST_SOURCE_DIR "/include", 1);
    setenv("TMPDIR", dir, 1);
    write_file("tiny.c", tiny);
    (void)snprintf(source, sizeof(source), "%s/tiny.c", dir);
    (void)snprintf(other, sizeof(other), "%s/tasklens-compile-mine", dir);
    assert_int_equal(mkdir(other, 0777), 0);
    (void)snprintf(other, sizeof(other), "%s/tasklens-compile-mine/notes", dir);
    write_file("tasklens-compile-mine/notes", "keep\n");
    assert_int_equal(tl__compile(source, living, sizeof(living), &living_lock, NULL), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (tl__compile(source, dead, sizeof(dead), &lock, NULL) != 0 || write(out[1], dead, sizeof(dead)) < 0)
            _exit(1);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(read(out[0], dead, sizeof(dead)), sizeof(dead));
    assert_int_equal(access(dead, F_OK), 0);

    assert_int_equal(tl__compile(source, mine, sizeof(mine), &lock, NULL), 0);
    assert_int_equal(access(dead, F_OK), -1);
    *strrchr(dead, '/') = '\0';
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(living, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    tl__compile_discard(mine, lock);
    tl__compile_discard(living, living_lock);
    assert_int_equal(access(living, F_OK), -1);
    assert_int_equal(close(out[0]), 0);
    assert_int_equal(close(out[1]), 0);
    unsetenv("TMPDIR");
}

static void output_directories_are_never_shared(void **state)
{
    char first[4096], second[4096], cwd[4096];
    struct tl_error err;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(tl__output_dir(NULL, "p", "c", first, sizeof(first), NULL), 0);
    assert_int_equal(tl__output_dir(NULL, "p", "c", second, sizeof(second), NULL), 0);
    assert_string_not_equal(first, second);
    assert_memory_equal(first, "outputs/p_c_20", 14);
    assert_int_equal(tl__output_dir("a/b/c", "p", "c", first, sizeof(first), NULL), 0);
    assert_string_equal(first, "a/b/c");
    assert_int_equal(tl__output_dir("a/b/c", "p", "c", first, sizeof(first), NULL), 0);
    write_file("plain", "x");
    assert_int_equal(tl__output_dir("plain/x", "p", "c", first, sizeof(first), &err), TL_ENOENT);
    assert_non_null(strstr(err.msg, "plain/x"));
    assert_int_equal(tl__output_dir("plain", "p", "c", first, sizeof(first), &err), TL_EEXIST);
    assert_int_equal(chdir(cwd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_fault_has_its_message, good_program),
        cmocka_unit_test(what_is_no_program_says_so),
        cmocka_unit_test(a_c_file_is_compiled_loaded_and_kept),
        cmocka_unit_test(a_c_file_that_does_not_compile_is_refused),
        cmocka_unit_test(a_killed_process_leaves_no_compiled_program),
        cmocka_unit_test(output_directories_are_never_shared),
    };
    char command[300];
    int rc;

    if (mkdtemp(dir) == NULL)
        return 77;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command) == 0 ? rc : 1;
}
