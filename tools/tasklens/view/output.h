/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a viewer writes: a file that appears whole or not at all (artifact/file_out.h), or the standard output where "-"
 * names it. A file that belongs to a recording is never replaced: an output is compared with them by device and inode,
 * so that no other spelling, link or mount gets around it.
 */
#ifndef TL_TOOLS_OUTPUT_H
#define TL_TOOLS_OUTPUT_H

#include <stdbool.h>

#include "artifact/file_out.h"

struct tl_gzip;

struct tl_output {
    struct tl_gzip *gzip; /* of a JSON file that is named *.json.gz; NULL: as it is */
    struct tl_out out;    /* JSON goes through out.json; also to the standard output */
    bool to_stdout;
    const char *command;
    int error; /* of the standard output */
};

/* Where an output goes. */
struct tl_output_place {
    const char *command;
    const char *given;     /* what the user named, or NULL; "-": the standard output */
    const char *dir;       /* the recording that is read: its files are not replaced, and `name` is a file of it */
    const char *name;      /* the file in `dir` where none was named */
    const char *way_out;   /* what to do if it cannot be written: "-o FILE writes it elsewhere"; or NULL */
    const char *also_read; /* one more file that is read, or NULL */
};

/* 0, or an exit code after a message; then there is nothing to end. */
int tl__output_open(struct tl_output *output, const struct tl_output_place *place);
/* A sink for pages (analysis/text/rendering.h) and JSON; `ctx` is the struct tl_output. */
int tl__output_bytes(void *ctx, const void *bytes, size_t count);
/* Ends it, after the code (0 or TL_E...) with which the rendering ended: whole, or not at all. An exit code, after a
 * message if it is not 0. */
int tl__output_end(struct tl_output *output, int code, const struct tl_output_place *place);
/* Ends it without a file and without a message. */
void tl__output_abandon(struct tl_output *output);
/* "-" is given. */
bool tl__output_is_stdout(const char *given);
/* Whether writing `path` would replace a file of the recording at `dir`, or `also_read` (NULL: none). An exit code
 * after a message; 0: it would not. */
int tl__output_refuse_input(const char *command, const char *path, const char *dir, const char *also_read);
/* Makes DIR, a directory of files derived from a recording, or finds it made. A link in its place is refused: it could
 * lead out of the recording. An exit code, after a message if it is not 0. */
int tl__output_make_dir(const char *command, const char *dir);

#endif
