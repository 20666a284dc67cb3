#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/host/server_loop.c: every request is answered, and those of the window are recorded, each whole, no other.
set -u
binary=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$binary/examples/server_loop" "$binary/examples/vector_add.so" "$out" 12 4 6 > "$out/answers" || { echo "it failed"; exit 1; }
for i in $(seq 0 11); do
  grep -q "^request $i: $(awk "BEGIN{print $i + 1.5}")\(, recorded in .*\)\?$" "$out/answers" || { cat "$out/answers"; exit 1; }
done
[ "$(cd "$out" && echo request*)" = "request4 request5 request6" ] || { ls "$out"; exit 1; }
for i in 4 5 6; do
  "$binary/tasklens" dump "$out/request$i" --verify > /dev/null || exit 1
  [ -s "$out/request$i/deps.json" ] && [ -s "$out/request$i/chip_swimlane_records.json" ] || { ls "$out/request$i"; exit 1; }
done
