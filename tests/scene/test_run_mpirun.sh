# SPDX-License-Identifier: Apache-2.0
# Four ranks of two dispatches under Debian's Open MPI: eight leaves, each its own rank's; and one of four that is killed
# in the middle. Skipped where there is none.
set -u
binary_dir=$1
command -v mpirun >/dev/null || exit 77
"$binary_dir/tasklens" run --help >/dev/null || exit 77
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() {
    echo "$*"
    cat out
    exit 1
}
mpi=(timeout 100 mpirun --allow-run-as-root --oversubscribe -n 4)

"${mpi[@]}" true >out 2>&1 || exit 77 # it is there and does not work here
"${mpi[@]}" "$binary_dir/tasklens" run vector_add --rounds 2 --dump-args 2 --enable-chip-swimlane --enable-dep-gen \
    --out tree >out 2>&1 || fail "mpirun tasklens run ended with $?"
for rank in 0 1 2 3; do
    for dispatch in 0 1; do
        leaf=tree/rank$rank/d$dispatch
        grep -q "\"rank\": $rank,\$" "$leaf/dispatch_program.json" || fail "$leaf is not rank $rank's"
        grep -q '"ranks": 4,$' "$leaf/dispatch_program.json" || fail "$leaf is not of four"
        for file in args_dump/args_dump.json chip_swimlane_records.json deps.json dfx_meta.json; do
            [ -s "$leaf/$file" ] || fail "no $leaf/$file"
        done
    done
    grep -q '"method": "\(ping\|same_clock\)"' "tree/rank$rank/clock.json" || fail "rank $rank has no clock"
done
[ "$(grep -c '^rank [0-3]: ' out)" = "$(wc -l <out)" ] || fail "lines without their rank"
"$binary_dir/tasklens" swimlane tree >merged || fail "tasklens swimlane tree ended with $?"
grep -q '^recording tree: 4 ranks, 8 dispatches$' merged || fail "$(cat merged)"
grep -q 'rank 1.*(+-\|order of rank 0 and rank 1 not known' merged || fail "nothing of order: $(cat merged)"
"${mpi[@]}" "$binary_dir/tasklens" run vector_add --dump-args 2 >out 2>&1 || fail "without --out"
[ "$(ls outputs | wc -l)" = 1 ] || fail "four ranks, several roots"

# Rank 3 writes slowly, so that it is in the middle when it dies; the others end by themselves.
cat >one.sh <<EOF
slow=
[ "\$OMPI_COMM_WORLD_RANK" != 3 ] || slow="--set elements=4000000 --set tiles=400 --throttle-writer 2M --dfx-set records=16"
exec "$binary_dir/tasklens" run vector_add \$slow --dump-args 2 --enable-chip-swimlane --out killed
EOF
"${mpi[@]}" --enable-recovery bash one.sh >out 2>&1 &
launcher=$!
for _ in $(seq 3000); do
    [ "$(stat -c %s killed/rank3/d0/args_dump/args.bin 2>/dev/null || echo 0)" -lt 2000000 ] || break
    sleep 0.02
done
kill -KILL "$(sed -n 's/^ *"pid": \([0-9]*\),*$/\1/p' killed/rank3/d0/dispatch_program.json)" || fail "rank 3 is not there"
wait $launcher
for rank in 0 1 2; do
    grep -q '"status": "ok"' "killed/rank$rank/d0/dfx_meta.json" || fail "rank $rank went along"
done
"$binary_dir/tasklens" swimlane killed 2>out && fail "nobody misses rank 3"
grep -q 'rank 3 has no chip_swimlane_records.json' out || fail "the missing rank is not named"
"$binary_dir/tasklens" recover killed/rank3/d0 >out || fail "rank 3 is not recovered"
"$binary_dir/tasklens" swimlane killed >out || fail "no trace of all"
grep -q '^recording killed: 4 ranks, 4 dispatches$' out || fail "not all ranks"
