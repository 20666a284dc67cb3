#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What any merged_swimlane.json must hold, whoever wrote it:

- each event has a phase letter, a process and a lane; times and durations are numbers >= 0;
- each process and each lane with an event has a name;
- an arrow has one start and one finish, which have one "id" and no "bind_id" (some readers refuse a file that has both),
  ends at the enclosing slice, does not run backwards, and both of its ends lie in a slice of their lane.

    check_trace.py [--strict] [--count KEY=N]... FILE...

--strict, for files of ours: times and durations are whole nanoseconds, slices of one lane nest when they are rounded to
those, both ends of an arrow lie before the end of their slice, and no two arrows of a kind join the same two slices. --count compares a number of events:
a phase letter, "flow:NAME", "flow:NAME:PID" or "name:TEXT". Ends with 1 after naming what is wrong, one line each.
"""

import bisect
import collections
import json
import sys

MICRO = 1e-6  # a picosecond; what two doubles that were added may be off


def ns(us):
    """As readers take a time: the nearest whole nanosecond."""
    return round(us * 1000)


class Trace:
    def __init__(self, path, strict):
        self.path, self.strict, self.problems = path, strict, []
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
        self.events = document["traceEvents"] if isinstance(document, dict) else document
        self.processes, self.threads = set(), set()
        self.slices = collections.defaultdict(list)
        self.flows = collections.defaultdict(list)
        self.counts = collections.Counter()

    def wrong(self, text, event=None):
        self.problems.append(f"{self.path}: {text}" + (f": {json.dumps(event)}" if event is not None else ""))

    def number(self, event, key):
        value = event.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            self.wrong(f"{key} is no number >= 0", event)
            return 0
        return value

    def sort(self):
        for event in self.events:
            phase = event.get("ph")
            self.counts[phase] += 1
            if not isinstance(event.get("name"), str) or not event["name"]:
                self.wrong("no name", event)
            self.counts["name:" + str(event.get("name"))] += 1
            lane = (event.get("pid"), event.get("tid"))
            if not isinstance(lane[0], int):
                self.wrong("no process", event)
            if phase == "M":
                if event["name"] == "process_name":
                    self.processes.add(lane[0])
                elif event["name"] == "thread_name":
                    self.threads.add(lane)
                continue
            if not isinstance(lane[1], int):
                self.wrong("no lane", event)
            self.number(event, "ts")
            if phase == "X":
                self.number(event, "dur")
                self.slices[lane].append(event)
            elif phase in ("s", "f"):
                self.flows[event.get("id")].append(event)
                self.counts["flow:" + event["name"]] += phase == "s"
                self.counts[f"flow:{event['name']}:{lane[0]}"] += phase == "s"
            elif phase == "C":
                if not event.get("args") or not all(isinstance(v, (int, float)) for v in event["args"].values()):
                    self.wrong("a counter without numbers", event)
            else:
                self.wrong("unknown phase letter", event)

    def check_names(self):
        used = {(e.get("pid"), e.get("tid")) for e in self.events if e.get("ph") != "M"}
        for lane in sorted(used - self.threads):
            self.wrong(f"process {lane[0]}, lane {lane[1]} has no name")
        for pid in sorted({lane[0] for lane in used} - self.processes):
            self.wrong(f"process {pid} has no name")

    def check_nesting(self):
        for lane, slices in self.slices.items():
            slices.sort(key=lambda e: (e["ts"], -e["dur"]))
            if not self.strict:
                continue
            open_ends = []
            for event in slices:
                for key in ("ts", "dur"):
                    if abs(event[key] * 1000 - ns(event[key])) > 0.01:
                        self.wrong(f"{key} is not an integer number of nanoseconds", event)
                end = ns(event["ts"]) + ns(event["dur"])
                while open_ends and open_ends[-1] <= ns(event["ts"]):
                    open_ends.pop()
                if open_ends and end > open_ends[-1]:
                    self.wrong(f"process {lane[0]}, lane {lane[1]}: a slice begins in another and ends behind it", event)
                open_ends.append(end)

    def slice_of(self, event):
        """The slice of the event's lane that it lies in: the last that begins before and has not ended; else one that
        ends at that moment."""
        slices = self.slices[(event["pid"], event["tid"])]
        at = event["ts"]
        i = bisect.bisect_right(slices, at + MICRO, key=lambda e: e["ts"])
        touched = None
        while i > 0:
            i -= 1
            end = slices[i]["ts"] + slices[i]["dur"]
            if end > at + MICRO or slices[i]["dur"] == 0 and end >= at - MICRO:
                return slices[i]
            if end >= at - MICRO:
                touched = touched or slices[i]
            if at - slices[i]["ts"] > self.longest[(event["pid"], event["tid"])]:
                break
        return touched

    def check_flows(self):
        self.longest = {lane: max(e["dur"] for e in s) + 1 for lane, s in self.slices.items()}
        pairs = collections.Counter()
        for ident, ends in self.flows.items():
            start = [e for e in ends if e["ph"] == "s"]
            finish = [e for e in ends if e["ph"] == "f"]
            if len(start) != 1 or len(finish) != 1:
                self.wrong(f"arrow {ident} has {len(start)} starts and {len(finish)} finishes")
                continue
            start, finish = start[0], finish[0]
            if finish.get("bp") != "e":
                self.wrong("an arrow that does not end at the enclosing slice", finish)
            if start["ts"] > finish["ts"] + MICRO:
                self.wrong("an arrow that runs backwards", start)
            slices = [self.slice_of(event) for event in (start, finish)]
            for event, within in zip((start, finish), slices):
                if self.strict and "bind_id" in event:
                    self.wrong("an arrow with a bind_id", event)
                if within is None:
                    self.wrong("the end of an arrow lies in no slice", event)
                elif self.strict and within["dur"] > 0 and \
                        ns(event["ts"]) >= ns(within["ts"]) + ns(within["dur"]):
                    self.wrong("the end of an arrow lies where its slice has ended", event)
            if None not in slices and all("id" in within for within in slices):
                pairs[(start["name"], slices[0]["id"], slices[1]["id"])] += 1
        if self.strict:
            for pair, n in pairs.items():
                if n > 1:
                    self.wrong(f"{n} arrows {pair[0]} from slice {pair[1]} to slice {pair[2]}")

    def check(self):
        self.sort()
        self.check_names()
        self.check_nesting()
        self.check_flows()
        return self.problems


def main(words):
    strict = "--strict" in words
    counts, files, problems = [], [], []
    words = iter([w for w in words if w != "--strict"])
    for word in words:
        if word == "--count":
            key, _, n = next(words).rpartition("=")
            counts.append((key, int(n)))
        else:
            files.append(word)
    for path in files:
        trace = Trace(path, strict)
        problems += trace.check()
        problems += [f"{path}: {trace.counts[key]} of {key}, not {n}" for key, n in counts if trace.counts[key] != n]
    for problem in problems[:50]:
        print(problem)
    return 1 if problems or not files else 0


sys.exit(main(sys.argv[1:]))
