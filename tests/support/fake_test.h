/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit tests of the engine share: directories, configurations, threads for roles, and the check of a whole
 * run. */
#ifndef TESTS_FAKE_TEST_H
#define TESTS_FAKE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support/fake_run.h"

#define MEMORY ((uint64_t)1 << 30)
#define SMALL_ARENA UINT64_C(65536)

static char fake_base[] = "/tmp/tl-engine-XXXXXX";

/* A fresh directory for one run; valid until 16 more were made. */
static inline const char *fresh_dir(void)
{
    static char names[16][256];
    static unsigned n;
    char *name = names[n % 16];

    snprintf(name, sizeof(names[0]), "%s/run%u", fake_base, n++);
    assert_int_equal(mkdir(name, 0777), 0);
    return name;
}

struct pump {
    struct fake_role *role;
    struct fake_chip *chip;
};

static inline void pump_main(void *arg)
{
    struct pump *p = arg;

    fake_role_run(p->role, p->chip);
}

/* The roles from `first` on to their ends, each on a thread of its own. */
static inline void run_roles(struct fake_world *w, unsigned first)
{
    struct tl_thread *threads[FAKE_LANES];
    struct pump pumps[FAKE_LANES];

    for (unsigned i = first; i < w->lanes; i++) {
        pumps[i] = (struct pump){&w->roles[i], &w->chip};
        assert_int_equal(tl__spawn("dev-role", pump_main, &pumps[i], &threads[i]), 0);
    }
    for (unsigned i = first; i < w->lanes; i++)
        tl__join(threads[i]);
}

static inline uint64_t in_seconds(unsigned s)
{
    return tl__now_ns() + s * UINT64_C(1000000000);
}

static inline struct tl_run_config small_config(const char *dir, int level)
{
    struct tl_run_config c = TL_RUN_CONFIG_INIT;

    c.output_prefix = dir;
    c.levels[TL_COLLECT_DUMP] = level;
    c.dump_oversize_chunk = true;
    c.dfx_records = 16;
    c.dfx_buffers = 4;
    c.dfx_avg_bytes = 1024; /* arena 64 KiB */
    return c;
}

static inline void must_begin(struct fake_world *w, uint32_t epoch, unsigned lanes, const struct tl_run_config *c,
                              const struct fake_script *s)
{
    struct tl_error err = {0};

    if (fake_begin(w, epoch, lanes, c, s, &err) < 0)
        fail_msg("begin: %s", err.msg);
}

/* Waits for the run's end, exports, and checks that all of it is there. */
static inline struct fake_found expect_whole_run(struct fake_world *w, uint32_t epoch, const struct tl_run_config *c,
                                                 const struct fake_script *s)
{
    struct tl_run_result result = {0};
    struct tl_error err = {0};
    struct fake_found found;

    assert_int_equal(tl__engine_quiesce(w->engine, epoch, in_seconds(20)), 0);
    if (fake_export(w->engine, epoch, fake_expected(w), &result, &err) != 0)
        fail_msg("export: %s", err.msg);
    found = fake_check_dir(c->output_prefix, s, epoch, SMALL_ARENA);
    assert_string_equal(found.wrong, "");
    assert_int_equal(found.records, fake_expected(w));
    assert_int_equal(found.lost, 0);
    assert_int_equal(found.dropped, 0);
    assert_int_equal(result.records_attempted, fake_expected(w));
    assert_int_equal(result.records_collected, fake_expected(w));
    assert_string_equal(result.artifacts, c->output_prefix);
    assert_false(fake_exists(c->output_prefix, TL_JOURNAL_NAME));
    assert_true(fake_exists(c->output_prefix, "dfx_meta.json"));
    return found;
}

static inline int fake_main(const char *name, const struct CMUnitTest *tests, size_t count)
{
    char command[64];
    int r;

    if (mkdtemp(fake_base) == NULL)
        return 1;
    r = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    snprintf(command, sizeof(command), "rm -rf %s", fake_base);
    return system(command) == 0 ? r : 1;
}

#endif
