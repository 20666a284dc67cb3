#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/formats/json.md and what --json prints: the same members, the promised head, one form of a task, one unit of time.
set -u
binary=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit 1
all="--dump-args 2 --enable-chip-swimlane 4 --enable-dep-gen --enable-pmu --enable-scope-stats --enable-traffic"
# shellcheck disable=SC2086
"$binary/tasklens" run paged_attention $all --out all >run.log 2>&1 || { cat run.log; exit 1; }
"$binary/tasklens" run vector_add --chips 2 --enable-chip-swimlane 4 --out ranks >run.log 2>&1 || { cat run.log; exit 1; }
mkdir cut && cp -r all/. cut && truncate -s -8 cut/args_dump/args.bin
python3 - "$binary/tasklens" "$source/docs/formats/json.md" <<'PY'
import json, re, subprocess, sys

tasklens, page = sys.argv[1:]
# command: its words, and the exit code
questions = {
    "dump": [("all", 0), ("all --verify", 0), ("cut", 4), ("cut --verify", 4)],
    "deps": [("all", 0), ("all -t r2t1", 0), ("all -t r2t1 --up 2 --down 2", 0), ("all --path r1t0 r2t3", 0),
             ("all --kernel qk", 0), ("all --tensor {buffer}", 0)],
    "pmu": [("all", 0)], "critical-path": [("all", 0)], "sched": [("all", 0)], "scope": [("all", 0)],
    "traffic": [("all", 0), ("all --cache 64K", 0)],
    "swimlane": [("all", 0), ("all --overhead", 0), ("ranks", 0)],
}
HEAD = {"schema", "version", "recording"}
problems = []


def members(value, dynamic, seen):
    if isinstance(value, dict):
        for key, inner in value.items():
            seen.setdefault(key, inner)
            if key in dynamic and isinstance(inner, dict):
                for of_each in inner.values():
                    members(of_each, dynamic, seen)
            else:
                members(inner, dynamic, seen)
    elif isinstance(value, list):
        for inner in value:
            members(inner, dynamic, seen)


def check_values(command, value, key=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            check_values(command, inner, name)
            if re.search(r"_(us|ms|ps|seconds)$", name) or (name.endswith("_ns") and not isinstance(inner, (int, dict, type(None)))):
                problems.append(f"{command}: {name} is not an integer number of nanoseconds: {inner}")
    elif isinstance(value, list):
        for inner in value:
            check_values(command, inner, key)
    elif key in ("task", "pred", "succ", "from", "to") and not re.fullmatch(r"r\d+t\d+", str(value)):
        problems.append(f"{command}: {key} is no task: {value}")


sections = dict(re.findall(r"^## tasklens\.(\S+)\n(.*?)(?=^## |\Z)", open(page, encoding="utf-8").read(), re.M | re.S))
if set(sections) != set(questions):
    problems.append(f"sections {sorted(sections)}, commands {sorted(questions)}")
buffer = None
for command, asked in questions.items():
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|$", sections.get(command, ""), re.M)
    listed, optional, dynamic = set(), set(), set()
    for names, meaning in rows:
        for name in re.findall(r"`([^`]+)`", names):
            if name.endswith(".*"):
                dynamic.add(name[:-2])
            else:
                listed.add(name)
                if meaning.startswith("*optional*"):
                    optional.add(name)
    printed = {}
    for words, code in asked:
        argv = [tasklens, command] + words.format(buffer=buffer).split() + ["--json"]
        run = subprocess.run(argv, capture_output=True, text=True)
        if run.returncode != code:
            problems.append(f"{command} {words}: exit code {run.returncode}, not {code}: {run.stderr}")
            continue
        answer = json.loads(run.stdout)
        if list(answer)[:2] != ["schema", "version"] or answer["schema"] != "tasklens." + command or answer["version"] != 1 or not isinstance(answer.get("recording"), str):
            problems.append(f"{command} {words}: the head is {list(answer.items())[:4]}")
        members(answer, dynamic, printed)
        check_values(command, answer)
        if command == "deps" and buffer is None:
            tasks, edges = answer["tasks"], answer["edges"]
            graph = json.load(open("all/deps.json", encoding="utf-8"))
            if len(tasks) != len(graph["tasks"]) or len(edges) != len(graph["edges"]) or len(tasks) != answer["task_count"]:
                problems.append(f"deps: {len(tasks)} tasks and {len(edges)} edges of {len(graph['tasks'])} and {len(graph['edges'])}")
            if [int(t["task_id"], 0) for t in graph["tasks"]] != [int(r) << 32 | int(n) for r, n in (t["task"][1:].split("t") for t in tasks)]:
                problems.append("deps: the tasks are not those of deps.json in its order")
            buffer = next(a["buffer_addr"] for t in tasks for a in t["args"] if a.get("buffer_addr"))
    for name in sorted(set(printed) - listed - HEAD):
        problems.append(f"{command} prints \"{name}\", which {page} does not list")
    for name in sorted(listed - optional - set(printed)):
        problems.append(f"{page} lists \"{name}\" of {command}, which is not printed")
    if not rows:
        problems.append(f"{page} lists nothing of {command}")
for command, words in (("dump", "all --jsonl"), ("deps", "all --jsonl")):
    run = subprocess.run([tasklens, command] + words.split(), capture_output=True, text=True)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    whole = json.loads(subprocess.run([tasklens, command, "all", "--json"], capture_output=True, text=True).stdout)
    same = [{k: v for k, v in t.items() if k != "args"} for t in whole["tasks"]] if command == "deps" else whole["args"]
    if lines != same:
        problems.append(f"{command} --jsonl differs from the entries of --json")
print("\n".join(problems))
sys.exit(1 if problems else 0)
PY
