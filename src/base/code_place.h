/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function and source line of a program's shared object a thread is in, for reports of crashes.
 *
 * All but tl__code_object_of() is safe in a signal handler: no heap, no lock. Lines come from addr2line (of binutils,
 * or LLVM's), which is run as a process of its own: debug information that is broken or large cannot hurt the one that
 * reports (docs/adr/0009).
 *
 * Threads: any.
 */
#ifndef TL_BASE_CODE_PLACE_H
#define TL_BASE_CODE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* A shared object as it is in this process. */
struct tl_code_object {
    uint64_t base, end; /* addresses of its code and data; base = end: none */
    const char *path;   /* the dynamic linker's, while the object is loaded */
};

/* Where in an object: addresses as its file has them. */
struct tl_code_place {
    uint64_t offset; /* of the instruction, or of a call's last byte */
    bool known;
    bool calls; /* the instruction itself is elsewhere, in a library; this is the innermost call out of the object */
};

/* The object that `address` (a function or a constant of it) is in; NULL: none. Makes ready what tl__code_here()
 * needs. */
void tl__code_object_of(struct tl_code_object *ret, const void *address);
/* Instruction and stack pointer of a handler's ucontext_t; 0: unknown on this processor. */
void tl__code_registers(const void *context, uint64_t *ret_code, uint64_t *ret_stack);
/* The place of the instruction `code` if it is in the object. */
struct tl_code_place tl__code_at(const struct tl_code_object *object, uint64_t code);
/* The innermost frame of the calling thread's stack that is in the object. It reads the stack: one that the program
 * has overwritten may fault. `jumped`: the stack pointer after a jump to where no code is, which only the stack's top
 * knows the origin of; else 0. */
struct tl_code_place tl__code_here(const struct tl_code_object *object, uint64_t jumped);
/* Appends "the code: die(), faults.c:93; out/program/faults.so+0x1412" to t: function and line, by the object's file
 * `path`, and the address in the file as `shown`; NULL: not. Frames of inlined functions follow, innermost first.
 * Without debug information the function with the offset in it, and how to get lines. Takes up to 5 s. */
void tl__code_put(struct tl_text *t, const char *path, const char *shown, const struct tl_code_place *place);

#endif
