/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of pmu_meta.json: what is accepted is bounded, and every text in it ends. */
#include "fuzz.h"

#include <string.h>

#include "artifact/pmu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tl_pmu_meta meta;
    struct tl_error error = {0};
    int code = tl__pmu_meta_parse(data, size, "fuzz", &meta, &error);

    if (code != 0) {
        MUST(code < 0 && error.code == code && error.msg[0] != 0 && meta.silent == NULL && meta.n_silent == 0);
        return 0;
    }
    MUST(meta.version <= TL_PMU_META_VERSION && meta.n_columns <= TL_PMU_MAX_COLUMNS);
    MUST(memchr(meta.arch, 0, sizeof(meta.arch)) != NULL && memchr(meta.machine, 0, sizeof(meta.machine)) != NULL);
    for (uint32_t i = 0; i < meta.n_columns; i++) {
        const struct tl_pmu_meta_column *c = &meta.columns[i];

        MUST(c->source <= TL_PMU_MEASURED && memchr(c->text, 0, sizeof(c->text)) != NULL);
        MUST(memchr(c->name, 0, sizeof(c->name)) != NULL && tl__pmu_meta_column(&meta, c->name) != NULL);
    }
    for (uint32_t i = 0; i < meta.n_silent; i++)
        MUST(tl__pmu_meta_is_silent(&meta, meta.silent[i]));
    tl__pmu_meta_fini(&meta);
    return 0;
}
