/* SPDX-License-Identifier: Apache-2.0 */
#include "view/swim_open.h"

#include <stdio.h>
#include <string.h>

#include "base/pathname.h"
#include "cmd.h"

/* DIR/NAME, or an exit code. */
static int path_in(const char *command, const char *dir, const char *name, char ret_path[TL_PATHNAME_BYTES])
{
    if (!tl__pathname(ret_path, "%s/%s", dir, name))
        return tl__cmd_fail(command, "%s: the path is too long", dir);
    return 0;
}

static int read_lane(const char *command, struct tl_swim_opened *o)
{
    struct tl_error error = {0};
    char path[TL_PATHNAME_BYTES];
    int code = path_in(command, o->found.path, TL_SWIMLANE_NAME, path);

    if (code != 0)
        return code;
    if (tl__swimlane_read(path, &o->lane, &error) < 0)
        return tl__cmd_fail(command, "%s", error.msg);
    o->has_lane = true;
    return 0;
}

static int read_deps(const char *command, bool needed, struct tl_swim_opened *o)
{
    struct tl_error error = {0};
    char path[TL_PATHNAME_BYTES];
    int code = path_in(command, o->found.path, TL_DEPS_NAME, path);

    if (code != 0)
        return code;
    code = tl__deps_read(path, &o->deps, &error);
    if (code == TL_ENOENT && needed)
        return tl__cmd_fail(command,
                            "%s has no " TL_DEPS_NAME ": run with --enable-dep-gen to record what waits for what",
                            o->found.path);
    if (code < 0 && code != TL_ENOENT)
        return tl__cmd_fail(command, "%s", error.msg);
    o->has_deps = code == 0;
    return 0;
}

static void read_names(const char *command, struct tl_swim_opened *o)
{
    struct tl_error error = {0};
    int code = tl__name_map_find(o->found.path, &o->names, &error);

    o->has_names = code == 0;
    if (code < 0 && code != TL_ENOENT)
        tl__cmd_note(command, "without kernel names: %s", error.msg);
}

int tl__swim_open(const char *command, const char *word, bool needs_deps, const struct tl_rank_pick *pick,
                  struct tl_swim_opened *ret_opened)
{
    const struct tl_artifact artifact = {TL_SWIMLANE_NAME, "--enable-chip-swimlane", pick};
    struct tl_swim_opened *o = ret_opened;
    struct tl_error error = {0};
    int code;

    memset(o, 0, sizeof(*o));
    code = tl__find_recording(command, word, &artifact, &o->found);
    if (code != 0)
        return code;
    tl__found_mention(command, &o->found);
    code = read_lane(command, o);
    if (code == 0)
        code = read_deps(command, needs_deps, o);
    if (code != 0)
        return code;
    read_names(command, o);
    if (tl__swim_join(&o->lane, o->has_deps ? &o->deps : NULL, o->has_names ? &o->names : NULL, &o->join, &error) < 0)
        return tl__cmd_fail(command, "%s: %s", o->found.path, error.msg);
    return 0;
}

void tl__swim_close(struct tl_swim_opened *opened)
{
    tl__swim_join_fini(&opened->join);
    if (opened->has_names)
        tl__name_map_fini(&opened->names);
    if (opened->has_deps)
        tl__deps_fini(&opened->deps);
    if (opened->has_lane)
        tl__swimlane_fini(&opened->lane);
    tl__found_fini(&opened->found);
}
