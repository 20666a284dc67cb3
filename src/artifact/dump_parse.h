/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest's parser: JSON events in, records out. Used by the reader alone; one thread per object. */
#ifndef TL_ARTIFACT_DUMP_PARSE_H
#define TL_ARTIFACT_DUMP_PARSE_H

#include <tasklens/recording.h>

struct tl_dump_parser;

/* `name`: the file's, for messages, borrowed. `size_hint`: bytes to come, which bounds what a count in the file may
 * make us reserve. NULL when out of memory. */
struct tl_dump_parser *tl__dump_parser_create(const char *name, uint64_t size_hint);
/* NULL is fine. */
void tl__dump_parser_destroy(struct tl_dump_parser *parser);
/* The next piece of the file, of any length. 0, or the error, which is final. */
int tl__dump_parser_feed(struct tl_dump_parser *parser, const void *bytes, size_t count, struct tl_error *reterr);
/* The end of the file. On success moves the records (tl__free them) and the summary out. */
int tl__dump_parser_finish(struct tl_dump_parser *parser, struct tl_dump_summary *ret_summary,
                           struct tl_dump_record **ret_records, uint64_t *ret_count, struct tl_error *reterr);

#endif
