#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A build without the probes (TASKLENS_DFX=OFF): programs run and agree with their goldens, marks are callable and do
# nothing, and asking for a recording is refused in one line before anything is made.
set -u
binary=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
for program in vector_add layer; do
  "$binary/tasklens" run "$program" >out 2>err || { echo "$program: exit $?"; cat out err; exit 1; }
  grep -q 'agree with the golden' out || { echo "$program: no word about its golden"; cat out; exit 1; }
done
"$binary/tasklens" run vector_add --dump-args 2 --out recording >out 2>err
code=$?
[ "$code" -eq 2 ] || { echo "--dump-args: exit $code, not 2"; cat out err; exit 1; }
[ "$(wc -l <err)" -eq 1 ] && grep -q 'TASKLENS_DFX=ON' err || { echo "--dump-args: says"; cat err; exit 1; }
[ ! -e recording ] || { echo "a directory was made for a refused recording"; exit 1; }
