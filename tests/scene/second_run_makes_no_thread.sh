#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A worker's second and third recorded runs make no thread and map no new pool: counted in the system call trace between
# the marks that `scene_test_idle_worker --twice` prints.
set -u
binary=$1
command -v strace >/dev/null 2>&1 || { echo "no strace: skipped"; exit 77; }
trace=$(mktemp)
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # the leak checker cannot run while traced
trap 'rm -f "$trace"' EXIT
strace -f -q -e trace=clone,clone3,fork,vfork,write -o "$trace" "$binary/tests/scene_test_idle_worker" --twice >/dev/null 2>&1 || {
  [ $? -eq 77 ] && { echo "not under the thread sanitizer: skipped"; exit 77; }
  grep -q "ptrace" "$trace" && { echo "tracing is not permitted: skipped"; exit 77; }
  echo "the traced program failed"; exit 1; }
grep -q 'write(1, "first run done' "$trace" || { echo "no first mark in the trace"; exit 1; }
grep -q 'write(1, "all runs done' "$trace" || { echo "no last mark in the trace"; exit 1; }
before=$(sed '/write(1, "first run done/,$d' "$trace" | grep -cE '(clone|clone3|fork|vfork)\(')
during=$(sed -n '/write(1, "first run done/,/write(1, "all runs done/p' "$trace" | grep -cE '(clone|clone3|fork|vfork)\(')
echo "threads made: $before up to the end of the first recorded run, $during in the two after it"
[ "$before" -gt 0 ] && [ "$during" -eq 0 ]
