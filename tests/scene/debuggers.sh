#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of the guide's section on sanitizers, valgrind and gdb, as they stand there: each finds the error.
set -u
here=$(cd "$(dirname "$0")" && pwd)
guide=$here/../../docs/guide.md
PATH=$(cd "$1" && pwd):$PATH
failed=0 count=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset CC CXX CFLAGS CXXFLAGS LDFLAGS ASAN_OPTIONS UBSAN_OPTIONS LD_PRELOAD
export TMPDIR=$work
cp "$here/heap.c" my_program.c
far=$(grep -n 'one too far' my_program.c | cut -d: -f1)

# check COMMAND CODE TEXT...
check() {
    local command=$1 code=$2 rc text
    shift 2
    timeout 100 bash -c "$command" >log 2>&1 </dev/null
    rc=$?
    [ $rc = "$code" ] || { echo "$command: exit code $rc, not $code"; cat log; failed=1; }
    for text in "$@"; do
        grep -qF -- "$text" log || { echo "$command: no \"$text\" in:"; cat log; failed=1; }
    done
    count=$((count + 1))
}

while read -r command; do
    case $command in
    *--sanitize*) check "$command" 3 "heap-buffer-overflow" "called from: past(), my_program.c:$far" ;;
    valgrind*) check "$command" 9 "Invalid write of size 4" "past (my_program.c:$far)" "my_kernel (my_program.c:" ;;
    gdb*) check "$command" 0 "Breakpoint 1, my_kernel (k=" "#0  my_kernel (k=" ;;
    *) echo "a command that this test does not know: $command"; failed=1 ;;
    esac
done < <(sed -n '/^### With a sanitizer, valgrind or gdb/,/^## /s/^\$ //p' "$guide")
[ $count = 3 ] || { echo "$count commands in the guide, not 3"; failed=1; }
exit $failed
