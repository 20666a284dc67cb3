/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest's reader: both of its ways, in pieces, give the same; what is read can be checked, and its payload asked
 * for. */
#include "fuzz.h"

#include <string.h>

#include "artifact/args_dump.h"
#include "artifact/dump_parse_state.h"
#include "base/env.h"

struct result {
    struct tl_dump_summary summary;
    struct tl_dump_record *records;
    uint64_t count;
    struct tl_error error;
    int code;
};

static void parse(const uint8_t *data, size_t size, size_t piece, bool short_cut, struct result *ret)
{
    struct tl_dump_parser *p = tl__dump_parser_create("fuzz", size);

    memset(ret, 0, sizeof(*ret));
    MUST(p != NULL);
    p->no_short_cut = !short_cut;
    for (size_t at = 0; at < size && ret->code == 0; at += piece)
        ret->code = tl__dump_parser_feed(p, data + at, size - at < piece ? size - at : piece, &ret->error);
    if (ret->code == 0)
        ret->code = tl__dump_parser_finish(p, &ret->summary, &ret->records, &ret->count, &ret->error);
    MUST(ret->code == 0 || (ret->code < 0 && ret->error.code == ret->code && ret->error.msg[0] != 0));
    tl__dump_parser_destroy(p);
}

static void must_be_same(const struct result *a, const struct result *b)
{
    MUST(a->code == b->code && strcmp(a->error.msg, b->error.msg) == 0);
    MUST(a->count == b->count && memcmp(&a->summary, &b->summary, sizeof(a->summary)) == 0);
    MUST(a->count == 0 || memcmp(a->records, b->records, a->count * sizeof(*a->records)) == 0);
}

static void use(const uint8_t *data, size_t size)
{
    struct tl_dump_reader *reader = NULL;
    struct tl_dump_verdict verdict;
    struct tl_error error;
    const void *payload = NULL;

    if (tl__dump_parse(data, size, "fuzz", &reader, &error) != 0)
        return;
    (void)tl__dump_verify(reader, &verdict);
    for (uint64_t i = 0; i < tl__dump_record_count(reader); i++) {
        const struct tl_dump_record *r = &tl__dump_records(reader)[i];

        MUST(r->func_count >= 1 && r->func_count <= TL_DUMP_MAX_FUNCS && r->stage <= TL_STAGE_AFTER);
        MUST(r->role <= TL_ROLE_INOUT && r->kind <= TL_KIND_SCALAR && r->cause <= TL_DUMP_CAUSE_OTHER);
        MUST(r->dtype < TL_DTYPE_COUNT || r->dtype == TL_DTYPE_UNKNOWN);
        MUST((tl__dump_payload(reader, r, &payload, &error) == 0) == (r->bin_size == 0) && payload == NULL);
    }
    tl__dump_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct result general, quick;

    parse(data, size, size + 1, false, &general);
    parse(data, size, size + 1, true, &quick);
    must_be_same(&general, &quick);
    tl__free(quick.records);
    parse(data, size, 97, true, &quick);
    must_be_same(&general, &quick);
    tl__free(quick.records);
    tl__free(general.records);
    use(data, size);
    return 0;
}
