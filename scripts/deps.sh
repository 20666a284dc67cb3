#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The one list of what Debian 12 must have to build and to check Tasklens.
#
#     scripts/deps.sh build            a compiler and the libraries
#     scripts/deps.sh check            that and all the tools of ./check
#     scripts/deps.sh list build|check prints the list
#
# Installs what is missing (needs root), and is silent when nothing is.
set -euo pipefail

# libc6-dev is here because gcc merely recommends it.
build=(gcc g++ libc6-dev clang cmake ninja-build pkg-config libxxhash-dev libyajl-dev libpfm4-dev libjs-d3 zlib1g-dev git)
check=(libcmocka-dev locales clang-format clang-tidy libclang-rt-14-dev cppcheck spin valgrind gdb strace mandoc universal-ctags
       graphviz python3 python3-numpy ccache chromium openmpi-bin)

usage() {
    echo "usage: scripts/deps.sh [list] build|check" >&2
    exit 2
}

only_list=false
if [ "${1:-}" = list ]; then
    only_list=true
    shift
fi
case "${1:-}" in
build) wanted=("${build[@]}") ;;
check) wanted=("${build[@]}" "${check[@]}") ;;
*) usage ;;
esac
if $only_list; then
    printf '%s\n' "${wanted[@]}"
    exit 0
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "deps: not a Debian system; going on, in the hope that these are here: ${wanted[*]}" >&2
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "deps: missing packages; run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

echo "deps: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3)

# A bare container has no package lists and an old one has stale lists; both show as a failed install.
if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "deps: apt-get could not install ${missing[*]}" >&2
        exit 1
    fi
fi
