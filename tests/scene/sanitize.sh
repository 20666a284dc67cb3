#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `tasklens run --sanitize`: what the sanitizers find is reported with kernel, task and line, ends with 3, and leaves the
# recording; good programs run as always. Of source files and of objects, in both device modes.
set -u
tasklens=$1/tasklens
source=$(cd "$(dirname "$0")" && pwd)/heap.c
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CC CXX CFLAGS CXXFLAGS LDFLAGS ASAN_OPTIONS UBSAN_OPTIONS LD_PRELOAD
export TMPDIR=$work
cp "$source" heap.c

line_of() { grep -n "$1" heap.c | head -1 | cut -d: -f1; }
# expect CODE TEXT... -- WORDS...: the exit code of `tasklens run WORDS`, and what it says
expect() {
    local code=$1 rc text texts=()
    shift
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    "$tasklens" run "$@" >log 2>&1
    rc=$?
    [ $rc = "$code" ] || { echo "run $*: exit code $rc, not $code"; cat log; failed=1; }
    for text in "${texts[@]}"; do
        grep -qF -- "$text" log || { echo "run $*: no \"$text\" in:"; cat log; failed=1; }
    done
}
far=$(line_of 'one too far')

expect 0 "4 float32 agree" "-fsanitize=address,undefined" -- heap.c --sanitize -v --set where=5
expect 3 "ERROR: AddressSanitizer: heap-buffer-overflow" "in past" "kernel \"my_kernel\", task r0t0" \
    "called from: past(), heap.c:$far" "kept/program/heap.so+0x" -- heap.c --sanitize --dump-args 2 --out kept
"$tasklens" dump --verify kept >log 2>&1 && "$tasklens" dump kept -s before >log 2>&1 && grep -q my_kernel log ||
    { echo "the recording of a sanitized run:"; cat log; failed=1; }
expect 3 "signed integer overflow" "heap.c:$(line_of 'too large')" "kernel \"my_kernel\", task r0t0" \
    -- heap.c --sanitize --set where=4
expect 2 "AddressSanitizer: heap-buffer-overflow" "prepare() of heap crashed" "heap.c:$far" -- heap.c --sanitize --set where=2

# An object; in a thread the command itself ends, and its recording is kept.
cc -g -O1 -fPIC -shared -fsanitize=address -I"$(dirname "$source")/../../include" heap.c -o heap.so || failed=1
expect 0 "4 float32 agree" -- ./heap.so --sanitize --device-mode thread --set where=5
expect 3 "AddressSanitizer: heap-buffer-overflow" "kernel \"my_kernel\", task r0t0" "called from: past(), heap.c:$far" \
    "tasklens recover thread" -- ./heap.so --sanitize --device-mode thread --dump-args 2 --out thread
"$tasklens" recover thread >log 2>&1 && [ -e thread/program/heap.so ] || { echo "recovered:"; cat log; failed=1; }

# What cannot be done is reported in one line.
expect 2 "tasklens run --sanitize" "libasan.so" -- ./heap.so
expect 2 "vector_add: No such file" "--sanitize takes a source file" -- vector_add --sanitize
cc -g -fPIC -shared -I"$(dirname "$source")/../../include" heap.c -o plain.so || failed=1
expect 2 "plain.so is not compiled with -fsanitize=address" -- ./plain.so --sanitize
# A compiler that has no library of the sanitizer gives back the name that it was asked for.
printf '#!/bin/sh\ncase "$1" in -print-file-name=*) echo "${1#*=}" ;; *) exec cc "$@" ;; esac\n' >bare-cc
chmod +x bare-cc
CC=$work/bare-cc expect 2 "libasan.so" "does not have; Debian has it in libasan8" -- heap.c --sanitize
[ "$(wc -l <log)" = 1 ] || { echo "more than one line:"; cat log; failed=1; }
exit $failed
