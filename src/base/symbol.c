/* SPDX-License-Identifier: Apache-2.0 */
#include "base/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 4096u
#define SYMBOLS_MAX (UINT64_C(1) << 22)

typedef ElfW(Ehdr) header;
typedef ElfW(Shdr) section;
typedef ElfW(Sym) symbol;

static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
    return at <= (uint64_t)INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* The section of the wanted type, with the string table that it names. */
static bool find_table(int fd, const header *h, uint32_t type, size_t entry, section *ret_symbols, section *ret_strings)
{
    for (unsigned i = 0; i < h->e_shnum && i < SECTIONS_MAX; i++)
        if (read_at(fd, h->e_shoff + (uint64_t)i * sizeof(section), ret_symbols, sizeof(*ret_symbols)) &&
            ret_symbols->sh_type == type && ret_symbols->sh_entsize == entry)
            return ret_symbols->sh_link < h->e_shnum &&
                   read_at(fd, h->e_shoff + (uint64_t)ret_symbols->sh_link * sizeof(section), ret_strings,
                           sizeof(*ret_strings));
    return false;
}

/* The last function that begins at or before the address and has it in itself. */
static bool find_symbol(int fd, const section *symbols, uint64_t address, symbol *ret_found)
{
    uint64_t count = symbols->sh_size / sizeof(symbol);
    symbol some[64];
    bool found = false;

    for (uint64_t at = 0; at < count && at < SYMBOLS_MAX; at += 64) {
        uint64_t n = count - at < 64 ? count - at : 64;

        if (!read_at(fd, symbols->sh_offset + at * sizeof(symbol), some, (size_t)n * sizeof(symbol)))
            return found;
        for (uint64_t i = 0; i < n; i++) {
            const symbol *s = &some[i];

            if ((s->st_info & 15u) == STT_FUNC && s->st_shndx != SHN_UNDEF && s->st_value <= address &&
                address - s->st_value < s->st_size && (!found || s->st_value >= ret_found->st_value)) {
                *ret_found = *s;
                found = true;
            }
        }
    }
    return found;
}

/* False: no object of this machine. */
static bool open_object(const char *path, int *ret_fd, header *ret_header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    *ret_fd = fd;
    if (read_at(fd, 0, ret_header, sizeof(*ret_header)) && memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0 &&
        ret_header->e_shentsize == sizeof(section))
        return true;
    (void)close(fd);
    return false;
}

/* The string at `at`, cut to `size`; false: there is none. */
static bool read_string(int fd, uint64_t at, char *text, size_t size)
{
    ssize_t n = at <= (uint64_t)INT64_MAX ? pread(fd, text, size - 1, (off_t)at) : 0;

    text[n > 0 ? n : 0] = '\0';
    return text[0] != '\0';
}

bool tl__symbol_needs(const char *path, const char *prefix, char *name, size_t size)
{
    section table, strings;
    bool found = false;
    ElfW(Dyn) entry;
    header h;
    int fd;

    if (!open_object(path, &fd, &h))
        return false;
    if (find_table(fd, &h, SHT_DYNAMIC, sizeof(entry), &table, &strings))
        for (uint64_t at = 0; !found && at + sizeof(entry) <= table.sh_size; at += sizeof(entry)) {
            if (!read_at(fd, table.sh_offset + at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
                break;
            found = entry.d_tag == DT_NEEDED && read_string(fd, strings.sh_offset + entry.d_un.d_val, name, size) &&
                    strncmp(name, prefix, strlen(prefix)) == 0;
        }
    (void)close(fd);
    return found;
}

bool tl__symbol_find(const char *path, uint64_t address, char *name, size_t size, uint64_t *ret_offset)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM}; /* the second is what a stripped object still has */
    bool found = false;
    header h;
    int fd;

    if (!open_object(path, &fd, &h))
        return false;
    for (unsigned i = 0; i < 2 && !found; i++) {
        section symbols, strings;
        symbol s;

        if (!find_table(fd, &h, types[i], sizeof(symbol), &symbols, &strings) ||
            !find_symbol(fd, &symbols, address, &s))
            continue;
        *ret_offset = address - s.st_value;
        found = read_string(fd, strings.sh_offset + s.st_name, name, size);
    }
    (void)close(fd);
    return found;
}
