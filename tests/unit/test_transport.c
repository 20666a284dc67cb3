/* SPDX-License-Identifier: Apache-2.0 */
/* Both transports, values and limits; and the copy transport never maps device memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "collect/range_map.h"
#include "support/fake_chip.h"

#define MEMORY ((uint64_t)4 << 20)

static void ranges_are_found_and_kept_apart(void **state)
{
    struct tl_range_map map = {0};
    uint8_t a[300], b[200], c[100];
    uint64_t bytes;

    (void)state;
    assert_int_equal(tl__range_add(&map, 1000, 300, a), 0);
    assert_int_equal(tl__range_add(&map, 5000, 200, b), 0);
    assert_int_equal(tl__range_add(&map, 3000, 100, c), 0);
    assert_int_equal(tl__range_add(&map, 1299, 10, c), TL_EINVAL);
    assert_int_equal(tl__range_add(&map, 900, 101, c), TL_EINVAL);
    assert_int_equal(tl__range_add(&map, 2000, 0, c), TL_EINVAL);
    assert_int_equal(tl__range_add(&map, UINT64_MAX - 5, 10, c), TL_EINVAL);
    assert_ptr_equal(tl__range_view(&map, 1000, 300), a);
    assert_ptr_equal(tl__range_view(&map, 1299, 1), a + 299);
    assert_null(tl__range_view(&map, 1299, 2));
    assert_null(tl__range_view(&map, 1300, 0));
    assert_null(tl__range_view(&map, 999, 1));
    assert_ptr_equal(tl__range_view(&map, 3099, 1), c + 99);
    assert_ptr_equal(tl__range_view(&map, 5010, 190), b + 10);
    assert_null(tl__range_view(&map, 5010, UINT64_MAX));
    assert_null(tl__range_remove(&map, 3001, &bytes));
    assert_ptr_equal(tl__range_remove(&map, 3000, &bytes), c);
    assert_int_equal(bytes, 100);
    assert_null(tl__range_view(&map, 3000, 1));
    assert_ptr_equal(tl__range_view(&map, 5199, 1), b + 199);
    tl__range_fini(&map);
}

/* Data and an index, both ways. Between the two copies nothing of one side shows on the other. */
static void copies_move_the_named_bytes_alone(void **state)
{
    (void)state;
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_chip c;
        struct tl_transport *t = &c.transport;
        uint8_t *view, *device;
        uint64_t addr, value;

        fake_chip_init(&c, kind, MEMORY);
        assert_int_equal(t->ops->alloc(t, 65536, &addr), 0);
        assert_int_equal(addr % TL_DEV_ALIGN, 0);
        view = t->ops->reg(t, addr, 65536);
        device = tl__dev_ptr(&c.mem, addr, 65536);
        assert_non_null(view);
        if (kind == FAKE_MAPPED)
            assert_ptr_equal(view, device);
        else
            assert_ptr_not_equal(view, device);
        memset(device, 0, 65536);
        memset(view, 0, 65536);
        for (unsigned i = 0; i < 1000; i++)
            view[64 + i] = (uint8_t)(i * 7);
        if (kind != FAKE_MAPPED)
            assert_int_equal(device[65], 0);
        /* exactly the named bytes */
        assert_int_equal(t->ops->copy_to_device(t, addr + 64, view + 64, 999), 0);
        for (unsigned i = 0; i < 999; i++)
            assert_int_equal(device[64 + i], (uint8_t)(i * 7));
        if (kind != FAKE_MAPPED)
            assert_int_equal(device[64 + 999], 0);
        for (unsigned i = 0; i < 1000; i++)
            device[8192 + i] = (uint8_t)(i * 5 + 1);
        assert_int_equal(t->ops->copy_from_device(t, view + 8192, addr + 8192, 1000), 0);
        for (unsigned i = 0; i < 1000; i++)
            assert_int_equal(view[8192 + i], (uint8_t)(i * 5 + 1));
        /* an index, both ways */
        assert_int_equal(tl__index_push(t, (tl_au64 *)(void *)view, addr, UINT64_C(0x0123456789abcdef)), 0);
        assert_int_equal(*(uint64_t *)(void *)device, UINT64_C(0x0123456789abcdef));
        *(uint64_t *)(void *)(device + 8) = UINT64_C(0xfedcba9876543210);
        assert_int_equal(tl__index_pull(t, (tl_au64 *)(void *)(view + 8), addr + 8, &value), 0);
        assert_int_equal(value, UINT64_C(0xfedcba9876543210));
        assert_ptr_equal(tl__transport_view(t, addr + 100, 8), view + 100);
        assert_null(tl__transport_view(t, addr + 65536 - 4, 8));
        t->ops->free(t, addr, 65536);
        assert_null(tl__transport_view(t, addr, 8));
        fake_chip_fini(&c);
    }
}

static void what_lies_outside_is_refused(void **state)
{
    struct tl_transport t;
    struct tl_transport_desc desc = {.alloc = fake_alloc, .free = fake_free};
    uint8_t byte = 0;

    (void)state;
    assert_int_equal(tl__transport_init(&t, "telepathy", &desc), TL_EINVAL);
    assert_int_equal(tl__transport_init(&t, "mapped", &desc), TL_EINVAL);
    assert_int_equal(tl__transport_init(&t, "copy", &desc), TL_EINVAL);
    for (enum fake_kind kind = 0; kind < FAKE_KINDS; kind++) {
        struct fake_chip c;
        uint64_t addr;

        fake_chip_init(&c, kind, MEMORY);
        assert_int_equal(c.transport.ops->alloc(&c.transport, 2 * MEMORY, &addr), TL_ENOMEM);
        assert_null(c.transport.ops->reg(&c.transport, TL_DEV_BASE + MEMORY - 10, 11));
        assert_null(c.transport.ops->reg(&c.transport, 4096, 1));
        if (kind != FAKE_MAPPED) {
            assert_int_equal(c.transport.ops->copy_from_device(&c.transport, &byte, TL_DEV_BASE + MEMORY, 1),
                             TL_EDEVICE);
            assert_int_equal(c.transport.ops->copy_to_device(&c.transport, TL_DEV_BASE - 1, &byte, 1), TL_EDEVICE);
        }
        /* a range that was not freed is freed with the transport */
        assert_int_equal(c.transport.ops->alloc(&c.transport, 4096, &addr), 0);
        assert_non_null(c.transport.ops->reg(&c.transport, addr, 4096));
        fake_chip_fini(&c);
    }
}

/* How often the chip's memory file is in this process's list of mappings. */
static unsigned mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned n = 0;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        n += strstr(line, "fake-chip") != NULL;
    fclose(f);
    return n;
}

static void test_copy_never_maps(void **state)
{
    struct fake_chip c;
    uint64_t addr;

    (void)state;
    fake_chip_init(&c, FAKE_COPY, MEMORY);
    assert_int_equal(mappings(), 1); /* the fake chip's own */
    munmap(c.mem.base, MEMORY);
    assert_int_equal(mappings(), 0);
    assert_int_equal(c.transport.ops->alloc(&c.transport, 65536, &addr), 0);
    uint8_t *view = c.transport.ops->reg(&c.transport, addr, 65536);
    assert_non_null(view);
    view[4000] = 77;
    assert_int_equal(c.transport.ops->copy_to_device(&c.transport, addr, view, 65536), 0);
    view[4000] = 0;
    assert_int_equal(c.transport.ops->copy_from_device(&c.transport, view, addr, 65536), 0);
    assert_int_equal(view[4000], 77);
    assert_int_equal(mappings(), 0);
    c.mem.base = mmap(NULL, MEMORY, PROT_READ, MAP_SHARED, c.fd, 0);
    assert_int_equal(c.mem.base[addr - TL_DEV_BASE + 4000], 77);
    fake_chip_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_found_and_kept_apart),
        cmocka_unit_test(copies_move_the_named_bytes_alone),
        cmocka_unit_test(what_lies_outside_is_refused),
        cmocka_unit_test(test_copy_never_maps),
    };

    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
