#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Nth system call or allocation of a command fails, once or from then on: for each N, what is left is judged.

    failing_calls.py BINARY_DIR [--runs] [--viewers] [--kinds write,alloc] [--in tasklens] [--modes process]
                     [--every K] [--seed S] [--jobs J] [--only KIND:N:once] [--limit SECONDS] [--keep]

A run records with all collectors. Required of each: an exit code that the pages name, an end within the limit, no
process and no temporary file left, an exit code of 0 only for a whole recording, a message otherwise; artifacts that
parse; viewers and `recover` that work on what is there. Of a viewer: the output that it has without faults and 0, or
one line and 2 (4 where it says what is missing). Without --every every N is taken, which takes hours.
"""
import argparse
import concurrent.futures
import errno
import gzip
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

RUN_KINDS = {
    "tasklens": [("write", errno.ENOSPC), ("write", errno.EIO), ("open", errno.EMFILE), ("rename", errno.ENOSPC),
                 ("mmap", errno.ENOMEM), ("alloc", errno.ENOMEM), ("space", errno.ENOSPC), ("sync", errno.EIO),
                 ("dir", errno.EACCES), ("mem", errno.ENOSPC)],
    "tasklens-chip": [("open", errno.EMFILE), ("mmap", errno.ENOMEM), ("alloc", errno.ENOMEM)],
}
RUN = ["run", "vector_add", "--set", "elements=4096", "--set", "tiles=4", "--dump-args", "2",
       "--enable-chip-swimlane", "4", "--enable-dep-gen", "--enable-pmu", "--enable-scope-stats",
       "--dfx-set", "records=8"]
# Of the chip's memory: so much that lanes wait for the host, and so many calls that each N would take a day.
RUN_MEM = ["run", "vector_add", "--set", "elements=65536", "--set", "tiles=512", "--dump-args", "2",
           "--enable-chip-swimlane", "4", "--enable-dep-gen", "--enable-pmu", "--enable-scope-stats",
           "--dfx-set", "records=8,buffers=2", "--transport", "copy"]
EVERY_MEM = 40
VIEWERS = [["dump"], ["dump", "--json"], ["dump", "--verify"], ["dump", "--index", "0"], ["deps"], ["deps", "--json"],
           ["deps", "--format", "dot", "-o", "@/graph.dot"], ["swimlane", "-o", "@/trace.json"],
           ["sched"], ["sched", "--json"], ["critical-path"], ["critical-path", "--json"], ["pmu"], ["pmu", "--json"],
           ["scope"], ["scope", "--json"], ["scope", "-o", "@/scope.html"],
           ["dump", "--export", "txt"], ["dump", "--export", "npy"],
           ["dump", "--jsonl"], ["dump", "--sort", "max", "--limit", "3"], ["dump", "--kernel", "."],
           ["dump", "--verify", "--json"], ["deps", "--jsonl"], ["deps", "--task", "r0t1", "--up", "--down"],
           ["deps", "--format", "dot"], ["deps", "--format", "html", "--engine", "levels", "-o", "@/graph.html"],
           ["deps", "--format", "html"], ["swimlane"], ["swimlane", "-o", "@/trace.json.gz", "--overhead"],
           ["swimlane", "--json"], ["swimlane", "-o", "-"], ["critical-path", "-o", "@/path.md", "--trace", "@/path.json"],
           ["critical-path", "--trace", "@/path.json.gz"], ["pmu", "--column", "all"], ["scope", "--html"],
           ["scope", "-o", "-"]]
# What a viewer does without, and says so.
NOTES = ["kernel names: ", "without their names: ", "shown by number: ", "how the run ended is not known: ",
         "critical_path.md: cannot ", "; --verify names all that is wrong"]
LOOKS = [["dump"], ["dump", "--verify"], ["deps"], ["swimlane", "-o", "@/trace.json"], ["sched"], ["critical-path"],
         ["pmu"], ["scope"]]


class Result:
    def __init__(self, code, out, err, seconds, calls):
        self.code, self.out, self.err, self.seconds, self.calls = code, out, err, seconds, calls


def session_alive(session):
    """Processes of that session that are no zombies."""
    alive = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            alive.append(int(name))
    return alive


def files_of(root):
    """All files below: what each holds, by its path from there."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                data = f.read()
            found[os.path.relpath(path, root)] = gzip.decompress(data) if name.endswith(".gz") else data
    return found


class Sweep:
    def __init__(self, args):
        self.args = args
        self.command = os.path.join(args.binary_dir, "tasklens")
        self.library = os.path.join(args.binary_dir, "tests", "failing_calls.so")
        self.base = tempfile.mkdtemp(prefix="tl_failing_", dir=args.dir)
        self.limit = args.limit
        self.failures = []
        self.counts = {}

    def call(self, words, work, fault=None, limit=None):
        """Runs the command; fault: (program, kind, n, once, errno)."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("TL_FAIL")}
        env["TMPDIR"] = work
        counter = None
        if fault is not None:
            program, kind, n, once, code = fault
            counter = os.path.join(work, "calls")
            with open(counter, "wb") as f:
                f.write(bytes(8))
            env.update(LD_PRELOAD=self.library, TL_FAIL_KIND=kind, TL_FAIL_AT=str(n), TL_FAIL_ONCE=str(int(once)),
                       TL_FAIL_ERRNO=str(code), TL_FAIL_IN=program, TL_FAIL_COUNT=counter)
        start = time.monotonic()
        p = subprocess.Popen([self.command] + words, cwd=work, env=env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = p.communicate(timeout=limit or self.limit)
            code = p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            for pid in session_alive(p.pid):
                os.kill(pid, signal.SIGKILL)
            out, err = p.communicate()
            code = "hang"
        seconds = time.monotonic() - start
        calls = 0
        if counter is not None:
            with open(counter, "rb") as f:
                calls = struct.unpack("<Q", f.read(8))[0]
            os.unlink(counter)
        for _ in range(200):
            alive = session_alive(p.pid)
            if not alive:
                break
            time.sleep(0.01)
        if alive:
            for pid in alive:
                os.kill(pid, signal.SIGKILL)
            code = f"{code}, left processes"
        return Result(code, out.decode(errors="replace"), err.decode(errors="replace"), seconds, calls)

    # ---- what is left ----

    def parse_all(self, root):
        """What does not parse, and what should not be there."""
        wrong = []
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                if ".tmp" in name or name.startswith(".reserve") or name.startswith("."):
                    wrong.append(f"{path} is left")
                    continue
                try:
                    with open(path, encoding="utf-8") as f:
                        if name.endswith(".json"):
                            json.load(f)
                        elif name.endswith(".jsonl"):
                            for line in f:
                                json.loads(line)
                except (ValueError, OSError) as e:
                    wrong.append(f"{path} does not parse: {e}")
        return wrong

    def look(self, out, work):
        """Viewers on what is there: no signal, no hang, and no complaint of a damaged file."""
        wrong = []
        for words in LOOKS:
            r = self.call(words[:1] + [out] + words[1:], work, limit=60)
            if r.code not in (0, 2, 4):
                wrong.append(f"then {' '.join(words)}: {r.code}: {r.err[-300:]}")
            elif r.code == 2 and not r.err.strip():
                wrong.append(f"then {' '.join(words)}: 2 without a word")
        return wrong

    def judge_run(self, r, work, expected):
        out = os.path.join(work, "out")
        wrong = []
        if r.code not in (0, 2, 3, 4):
            wrong.append(f"exit {r.code}")
        if r.seconds > self.limit:
            wrong.append(f"took {r.seconds:.1f} s")
        if r.code != 0 and not r.err.strip():
            wrong.append("no message")
        whole = os.path.isfile(os.path.join(out, "dfx_meta.json"))
        journal = os.path.isfile(os.path.join(out, "run.journal"))
        wrong += self.parse_all(out)
        if r.code == 0:
            if not whole:
                wrong.append("exit 0 without a whole recording")
            else:
                with open(os.path.join(out, "dfx_meta.json"), encoding="utf-8") as f:
                    n = self.collected(json.load(f))
                if n != expected:
                    wrong.append(f"exit 0 with {n} records instead of {expected}")
                v = self.call(["dump", out, "--verify"], work, limit=60)
                if v.code != 0:
                    wrong.append(f"exit 0, then dump --verify: {v.code}: {v.err[-300:]}")
        if journal and os.path.getsize(os.path.join(out, "run.journal")) > 0:
            if "recover" not in r.err + r.out:
                wrong.append("a journal is left and no message names recover")
            v = self.call(["recover", out], work, limit=60)
            if v.code not in (0, 4):
                wrong.append(f"then recover: {v.code}: {v.err[-300:]}")
            wrong += self.parse_all(out)
            whole = os.path.isfile(os.path.join(out, "dfx_meta.json"))
        if os.path.isdir(out) and whole:
            wrong += self.look(out, work)
        if not whole and r.code == 0:
            wrong.append("nothing recorded")
        return wrong

    @staticmethod
    def collected(meta):
        """Records by stream; how often schedulers looked for work differs from run to run."""
        return {s["name"]: s["collected"] for s in meta["streams"] if s["name"] != "swim_phases"}

    # ---- one step ----

    def work_dir(self):
        return tempfile.mkdtemp(prefix="w", dir=self.base)

    def one_run(self, mode, fault):
        work = self.work_dir()
        mem = fault[1] == "mem"
        r = self.call((RUN_MEM if mem else RUN) + ["--device-mode", mode, "--out", "out"], work, fault)
        wrong = self.judge_run(r, work, self.expected_mem if mem else self.expected)
        return r, wrong, work

    def view(self, words, fault=None, limit=None):
        """The viewer over a copy of the recording: what it did, what it printed, and what lies there afterwards."""
        work = self.work_dir()
        shutil.copytree(os.path.join(self.base, "recording"), os.path.join(work, "r"))
        r = self.call([words[0], "r"] + [w.replace("@", work) for w in words[1:]], work, fault, limit)
        out = re.sub(r" in \d+\.\d s$", " in some time", r.out.replace(work, ""), flags=re.MULTILINE)
        return r, out, files_of(work), work

    def one_viewer(self, words, fault, plain):
        r, out, files, work = self.view(words, fault)
        plain_out, plain_files = plain
        wrong = []
        said = [line for line in r.err.strip().splitlines() if line]
        last = [line for line in said if not any(note in line for note in NOTES)]
        if fault[1] != "shrink": # which cuts them
            # A file is whole or not there; with a note it may be another, without it is as it is without faults.
            known = plain_files if not said or r.code == 2 else {name: files.get(name) for name in files}
            wrong += [f"{name} is not what it is without faults" for name in files if files[name] != known.get(name)]
            wrong += [f"{name} is gone" for name in self.recorded if name not in files]
        if r.code == 0:
            if out != plain_out and not said:
                wrong.append("exit 0 with another output, without a word")
            wrong += [f"exit 0 without {name}" for name in plain_files if name not in files and not said]
        elif r.code == 2 or r.code == 4:
            if (len(last) > 1 or not said) and not (r.code == 4 and r.out):
                wrong.append(f"{len(last)} lines of message")
        else:
            wrong.append(f"exit {r.code}")
        if r.seconds > self.limit:
            wrong.append(f"took {r.seconds:.1f} s")
        wrong += self.parse_all(work)
        return r, wrong, work

    def finish(self, label, r, wrong, work):
        tally = self.counts.setdefault(label.split(" n=")[0], {})
        tally[str(r.code)] = tally.get(str(r.code), 0) + 1
        if wrong:
            tally["wrong"] = tally.get("wrong", 0) + 1
            self.failures.append((label, wrong))
            print(f"{label}: {'; '.join(wrong)}\n    {r.err.strip()[-600:]}", flush=True)
        if not (wrong and self.args.keep):
            shutil.rmtree(work, ignore_errors=True)

    def steps(self, total, salt, every):
        rng = random.Random(f"{self.args.seed} {salt}")
        first = 1 + rng.randrange(every)
        if first > total > 0:
            first = 1 + rng.randrange(total)
        return list(range(first, total + 1, every))

    def sweep(self, label, program, kind, code, do):
        """do(fault) -> (result, wrong, work), over all N, once and from then on."""
        r, wrong, work = do((program, kind, 0, True, code))
        shutil.rmtree(work, ignore_errors=True)
        if wrong:
            self.failures.append((f"{label} without a fault", wrong))
            print(f"{label} without a fault: {wrong} {r.err}", flush=True)
            return
        if r.calls == 0:
            return
        every = self.args.every * (EVERY_MEM if kind == "mem" else 1)
        jobs = [(n, once) for once in (True, False) for n in self.steps(r.calls, f"{label} {once}", every)]
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            futures = {pool.submit(do, (program, kind, n, once, code)): (n, once) for n, once in jobs}
            for f in concurrent.futures.as_completed(futures):
                if f.cancelled():
                    continue
                n, once = futures[f]
                self.finish(f"{label} {'once' if once else 'on'} n={n}", *f.result())
                if self.done():
                    for left in futures:
                        left.cancel()
        tally = {k: v for k, v in self.counts.items() if k.startswith(label)}
        print(f"{label}: {r.calls} calls, " +
              "; ".join(f"{k.rsplit(' ', 1)[1]} {v}" for k, v in tally.items()), flush=True)

    def done(self):
        return self.args.first and self.failures

    def runs(self):
        for mode in self.args.modes.split(","):
            for program, kinds in RUN_KINDS.items():
                if self.args.program not in ("", program) or (mode == "thread" and program != "tasklens"):
                    continue
                for kind, code in kinds:
                    if self.done() or self.args.kinds and kind not in self.args.kinds.split(","):
                        continue
                    self.sweep(f"{mode} {program} {kind} {errno.errorcode[code]}", program, kind, code,
                               lambda fault, mode=mode: self.one_run(mode, fault))

    def viewers(self):
        for words in VIEWERS:
            if self.args.command and words[0] != self.args.command:
                continue
            plain, out, files, work = self.view(words, limit=60)
            shutil.rmtree(work)
            if plain.code != 0:
                self.failures.append((" ".join(words), [f"without a fault: {plain.code}: {plain.err}"]))
                print(f"{' '.join(words)}: {plain.code} without a fault: {plain.err}")
                continue
            kinds = [("alloc", errno.ENOMEM), ("write", errno.ENOSPC), ("open", errno.EMFILE), ("mmap", errno.ENOMEM),
                     ("rename", errno.EIO), ("dir", errno.EACCES), ("sync", errno.EIO), ("shrink", errno.EIO)]
            for kind, code in kinds:
                if self.done() or self.args.kinds and kind not in self.args.kinds.split(","):
                    continue
                if kind == "alloc" and "--kernel" in words:
                    continue # glibc 2.36's regexec() breaks the heap when an allocation of its own fails
                self.sweep(f"[{' '.join(words)}] {kind}", "tasklens", kind, code,
                           lambda fault, words=words, plain=(out, files): self.one_viewer(words, fault, plain))

    def prepare(self):
        """A recording without faults, to compare with and to look at."""
        self.expected = self.records_of(RUN, "recording")
        self.expected_mem = self.records_of(RUN_MEM, "recording_mem")
        self.recorded = ["r/" + name for name in files_of(os.path.join(self.base, "recording"))]

    def records_of(self, words, out):
        r = self.call(words + ["--out", out], self.base, limit=60)
        if r.code != 0:
            sys.exit(f"the run without faults ends with {r.code}: {r.err}")
        with open(os.path.join(self.base, out, "dfx_meta.json"), encoding="utf-8") as f:
            return self.collected(json.load(f))

    def only(self, text):
        """MODE:PROGRAM:KIND:ERRNO:N:once|on of a run, its message and what is wrong with it."""
        mode, program, kind, code, n, how = text.split(":")
        r, wrong, work = self.one_run(mode, (program, kind, int(n), how == "once", getattr(errno, code)))
        print(f"{r.code} in {r.seconds:.2f} s\n{r.out}{r.err}{wrong}\n{work}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("binary_dir")
    p.add_argument("--runs", action="store_true")
    p.add_argument("--viewers", action="store_true")
    p.add_argument("--kinds", default="")
    p.add_argument("--in", dest="program", default="")
    p.add_argument("--command", default="")
    p.add_argument("--modes", default="process,thread")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--seed", default=str(time.time_ns()))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--limit", type=float, default=5)
    p.add_argument("--dir", default=None)
    p.add_argument("--only", default="")
    p.add_argument("--first", action="store_true", help="end at the first that is wrong")
    p.add_argument("--keep", action="store_true")
    args = p.parse_args()
    args.binary_dir = os.path.abspath(args.binary_dir)
    print(f"seed {args.seed}", flush=True)
    sweep = Sweep(args)
    try:
        sweep.prepare()
        if args.only:
            sweep.only(args.only)
            return
        if args.runs or not args.viewers:
            sweep.runs()
        if args.viewers or not args.runs:
            sweep.viewers()
    finally:
        if not args.keep:
            shutil.rmtree(sweep.base, ignore_errors=True)
    total = sum(n for tally in sweep.counts.values() for code, n in tally.items() if code != "wrong")
    print(f"{total} commands, {len(sweep.failures)} wrong (seed {args.seed})")
    sys.exit(1 if sweep.failures or total == 0 else 0)


if __name__ == "__main__":
    main()
