/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both consumers do: run their program at each level of the args dump, and look at what was recorded. The program
 * is y = factor * x, and it marks x and factor. Compiles as C and as C++.
 */
#ifndef TL_TESTS_INSTALL_LEVELS_H
#define TL_TESTS_INSTALL_LEVELS_H

#include <stdio.h>
#include <string.h>

#include <tasklens/log.h>
#include <tasklens/program.h>
#include <tasklens/recording.h>
#include <tasklens/worker.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Level 1 has the marked arguments, 2 all of them, 3 all descriptions and the payload of what is marked. */
static int check_level(const char *dir, int level)
{
    static const uint64_t records[] = {0, 2, 3, 3}, payloads[] = {0, 1, 2, 1};
    struct tl_recording *recording = NULL;
    struct tl_dump_verdict verdict;
    uint64_t with_payload = 0;
    struct tl_error why;

    if (level == 0) {
        CHECK(tl_recording_open(dir, &recording, &why) < 0);
        return 0;
    }
    CHECK(tl_recording_open(dir, &recording, &why) == 0);
    CHECK(tl_recording_verify(recording, &verdict) == 0);
    CHECK(tl_recording_count(recording) == records[level]);
    for (uint64_t i = 0; i < tl_recording_count(recording); i++) {
        const struct tl_dump_record *r = tl_recording_at(recording, i);

        with_payload += r->bin_size != 0;
        if (r->arg_index == 0) { /* x */
            const void *data = NULL;
            float first = 0.0f;

            CHECK(r->kind == TL_KIND_TENSOR && (r->flags & TL_ARG_MARKED) != 0);
            CHECK(tl_recording_payload(recording, i, &data, &why) == 0 && data != NULL);
            memcpy(&first, data, sizeof(first));
            CHECK(first == 1.0f);
        }
    }
    CHECK(with_payload == payloads[level]);
    tl_recording_close(recording);
    return 0;
}

/* What the library says of its own accord comes here, and only here. */
struct said {
    int lines;
    enum tl_log_level level;
    char text[1001];
};

static void keep(void *user, enum tl_log_level level, const char *text)
{
    struct said *said = (struct said *)user;

    said->lines++;
    said->level = level;
    snprintf(said->text, sizeof(said->text), "%s", text);
}

/* A refused call says why and leaves a result that is whole. */
static int check_refusals(struct tl_worker *worker, struct tl_loaded *loaded, const struct tl_host_tensor *tensors)
{
    struct tl_submit_opts opts = TL_SUBMIT_OPTS_INIT;
    struct tl_run_result result;
    struct tl_error err;

    memset(&result, 0x5a, sizeof(result));
    opts.tensors = tensors;
    opts.n_tensors = 1;
    CHECK(tl_worker_run(worker, loaded, &opts, &result, &err) < 0);
    CHECK(strstr(err.msg, "2 tensors, not 1") != NULL);
    CHECK(result.run_code < 0 && result.tasks == 0 && result.artifacts[0] == '\0');
    opts.tensors = NULL;
    opts.n_tensors = 2;
    CHECK(tl_worker_run(worker, loaded, &opts, &result, &err) < 0);
    opts.tensors = tensors;
    opts.n_params = 1;
    CHECK(tl_worker_run(worker, loaded, &opts, &result, &err) < 0);
    CHECK(tl_worker_run(worker, loaded, NULL, &result, &err) == TL_EINVAL);
    return 0;
}

/* `root`: an existing directory. 0 when everything is as it should be. */
static int run_levels(const struct tl_program *program, const char *root)
{
    static float x[4] = {1.0f, 2.0f, 3.0f, 4.0f}, y[4];
    struct tl_host_tensor tensors[2];
    struct tl_worker_opts opts = TL_WORKER_OPTS_INIT;
    struct tl_worker *worker = NULL;
    struct tl_loaded *loaded = NULL;
    struct tl_error err;
    struct said said;

    memset(&said, 0, sizeof(said));
    memset(tensors, 0, sizeof(tensors));
    tensors[0].name = "x";
    tensors[0].data = x;
    tensors[0].role = TL_IN;
    tensors[1].name = "y";
    tensors[1].data = y;
    tensors[1].role = TL_OUT;
    for (int i = 0; i < 2; i++) {
        tensors[i].dtype = TL_FLOAT32;
        tensors[i].rank = 1;
        tensors[i].shape[0] = 4;
    }
    opts.mode = TL_DEVICE_THREAD;
    tl_log_set_sink(keep, &said);
    CHECK(tl_worker_open(&opts, &worker, &err) == 0);
    CHECK(tl_worker_load_linked(worker, program, &loaded, &err) == 0);
    CHECK(check_refusals(worker, loaded, tensors) == 0);
    CHECK(said.lines == 0);
    for (int level = 0; level <= 3; level++) {
        struct tl_run_config config = TL_RUN_CONFIG_INIT;
        struct tl_submit_opts given = TL_SUBMIT_OPTS_INIT;
        struct tl_run_result result;
        char dir[300];

        snprintf(dir, sizeof(dir), "%.200s/level%d", root, level);
        config.levels[TL_COLLECT_DUMP] = level;
        config.output_prefix = dir;
        config.levels[TL_COLLECT_PMU] =
            level == 3 ? 99 : 0; /* no event type: that is said, and the default one is counted */
        memset(y, 0, sizeof(y));
        given.tensors = tensors;
        given.n_tensors = 2;
        given.config = &config;
        if (tl_worker_run(worker, loaded, &given, &result, &err) != 0) {
            fprintf(stderr, "level %d: %s\n", level, err.msg);
            return 1;
        }
        CHECK(result.tasks == 1 && result.run_code == 0 && result.record_code == 0);
        for (int i = 0; i < 4; i++)
            CHECK(y[i] == 3.0f * x[i]);
        CHECK(check_level(dir, level) == 0);
    }
    tl_worker_close(worker);
    CHECK(said.lines == 1 && said.level == TL_LOG_WARN);
    CHECK(strstr(said.text, "99") != NULL && strchr(said.text, '\n') == NULL);
    tl_log_set_sink(NULL, NULL);
    return 0;
}

#endif
