#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions with the probes compiled in but off, against a build without them: the ratio that docs/performance.md has.
# Run from the source directory; needs valgrind. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
count() { # PRESET
  cmake --preset "$1" >/dev/null && cmake --build --preset "$1" --target bench_off >/dev/null
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "build/$1/bench/bench_off" 2>&1 |
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
with=$(count release)
without=$(count nodfx)
awk -v a="$with" -v b="$without" \
  'BEGIN { printf "probes in but off %d instructions, compiled out %d: ratio %.4f\n", a, b, a / b }'
