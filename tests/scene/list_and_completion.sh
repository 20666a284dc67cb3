#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tasklens list says what there is to run and set; tasklens completion offers each command and option that the help shows.
set -u
tasklens=$1/tasklens
failed=0
fail() { echo "$*"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tasklens" list vector_add > "$work/one" || fail "list vector_add failed"
grep -q '^vector_add: ' "$work/one" || fail "no summary"
grep -q -- '^  --set tiles=4  1 to [0-9]*: .' "$work/one" || { cat "$work/one"; fail "no parameter with range and meaning"; }
grep -q -- '^  --case default (default)' "$work/one" || fail "no case"
"$tasklens" list > "$work/all" || fail "list failed"
grep -q '^bgemm: ' "$work/all" || fail "bgemm is not listed"
[ "$("$tasklens" list --names | LC_ALL=C sort -c && echo sorted)" = sorted ] || fail "the names are not sorted"
"$tasklens" list no_such >"$work/none" 2>&1 && fail "a program that is not there was listed"
"$tasklens" list --json | python3 -c '
import json, sys
all = json.load(sys.stdin)
assert all["schema"] == "tasklens.list" and all["version"] == 1
program = next(p for p in all["programs"] if p["name"] == "vector_add")
tiles = next(p for p in program["params"] if p["name"] == "tiles")
assert tiles["default"] == 4 and tiles["min"] <= 4 <= tiles["max"] and tiles["help"]
assert program["cases"][0]["name"] == "default"
assert any(c["settings"] for c in program["cases"])
' || fail "list --json is not what it should be"

for shell in bash zsh fish; do
    "$tasklens" completion $shell > "$work/$shell" || fail "completion $shell failed"
    if command -v $shell > /dev/null; then $shell -n "$work/$shell" || fail "$shell does not read its completion"; fi
    for command in $("$tasklens" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        grep -q -- "$command" "$work/$shell" || fail "$shell: no command $command"
        [ "$command" = help ] && continue
        for option in $("$tasklens" help "$command" | sed -n 's/^  \(-., \|    \)--\([a-z0-9-]*\).*/\2/p'); do
            [ "$option" = help ] && continue
            grep -q -e "--$option" -e "-l $option" "$work/$shell" || fail "$shell: no option --$option of $command"
        done
    done
done
"$tasklens" completion tcsh >"$work/none" 2>&1 && fail "a shell that is not known was accepted"

# What bash really offers.
offers() {
    bash -c 'source "$1"; shift; PATH=$1:$PATH; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tasklens; echo "${COMPREPLY[@]}"' \
        offers "$work/bash" "$1" "${@:2}"
}
[ "$(offers "${tasklens%/*}" tasklens sw)" = swimlane ] || fail "bash: sw"
[ "$(offers "${tasklens%/*}" tasklens run vector_add --enable-s)" = --enable-scope-stats ] || fail "bash: --enable-s"
[ "$(offers "${tasklens%/*}" tasklens run vector_add --device-mode t)" = thread ] || fail "bash: --device-mode t"
[ "$(cd "$work" && offers "${tasklens%/*}" tasklens run vector_)" = vector_add ] || fail "bash: run vector_"
exit $failed
