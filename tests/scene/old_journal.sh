#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A journal that an older version wrote (tests/golden/journal/v2: version 2, a killed run with every diagnostic on) is
# recovered to what that version made of it: as it is, with a damaged header that the begun block makes good, and as
# version 1, which differs in its number alone.
set -u
binary_dir=$1
golden=$(cd "$(dirname "$0")/../golden/journal/v2" && pwd) || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
recover() # NAME OFFSET BYTES [OFFSET BYTES]: the journal with these bytes in it
{
    local name=$1 file
    shift
    mkdir -p "$name/args_dump"
    cp "$golden/run.journal" "$name/" && cp "$golden/args.bin" "$name/args_dump/" || exit 1
    while [ $# -gt 0 ]; do
        printf "$2" | dd of="$name/run.journal" bs=1 seek="$1" conv=notrunc status=none
        shift 2
    done
    "$binary_dir/tasklens" recover "$name" >out 2>err
    code=$?
    [ $code = "$want" ] || { echo "$name: recover ended with $code, not $want: $(cat out err)"; failed=1; }
    for file in args_dump/args_dump.json chip_swimlane_records.json deps.json pmu.csv scope_stats/scope_stats.jsonl; do
        cmp "$golden/${file##*/}" "$name/$file" || failed=1
    done
}

want=0
recover whole
grep -q 'recovered  33 records in 23 buffers, 1024 bytes of payload' out || { cat out; failed=1; }
recover version_1 8 '\001' 12 '\001'
want=4
recover damaged 40 'X'
exit $failed
