# SPDX-License-Identifier: Apache-2.0
"""What the check-* scripts share: the list of files, source without comments, and the report."""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files(root, *suffixes):
    """Paths below `root`, relative to it, that end in one of `suffixes`: what git tracks or would
    track, or the whole tree where there is no git (an unpacked archive, a self-test)."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                         capture_output=True)
    if git.returncode == 0 and git.stdout:
        names = git.stdout.decode().split("\0")
    else:
        names = []
        for folder, folders, leaves in os.walk(root):
            folders[:] = [f for f in folders if f not in (".git", "build", "outputs")]
            names += [os.path.relpath(os.path.join(folder, leaf), root) for leaf in leaves]
    return sorted({n for n in names if n.endswith(suffixes) and os.path.isfile(os.path.join(root, n))})


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def code_only(text):
    """The same text with comments blanked and literals emptied; line numbers stay."""
    def blank(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        return token[0] + " " * (len(token) - 2) + token[-1]
    return TOKEN.sub(blank, text)


def comments_by_line(text):
    """{line: comment text on that line}, lines from 1."""
    found = {}
    for match in TOKEN.finditer(text):
        if not match.group(0).startswith(("//", "/*")):
            continue
        first = text.count("\n", 0, match.start()) + 1
        for i, line in enumerate(match.group(0).split("\n")):
            found[first + i] = found.get(first + i, "") + line
    return found


def functions(root, paths):
    """(path, name, first line, last line) of every function."""
    if not paths:
        return []
    run = subprocess.run(["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f", "--kinds-C++=f",
                          "--languages=C,C++", "-f", "-", "-L", "-"], input="\n".join(paths), cwd=root,
                         capture_output=True, text=True, check=True)
    found = []
    for line in run.stdout.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and "end" in tag:
            found.append((tag["path"], tag["name"], tag["line"], tag["end"]))
    return sorted(found, key=lambda f: (f[0], f[2]))


def report(name, problems, summary):
    """Prints problems one a line and ends the script: 1 if there is any."""
    for problem in problems:
        print(problem)
    print(f"{name}: {summary}, {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    sys.exit(1 if problems else 0)


def self_test(name, check, tree, expected):
    """Writes `tree` ({path: text}) to a temporary folder, runs check(root) on it and compares the
    first "path:line" or "path" of each problem with `expected`, in any order."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        problems = check(root)
    places = sorted(problem.split(": ")[0] for problem in problems)
    if places != sorted(expected):
        print(f"{name}: self-test failed: found")
        print("\n".join("    " + problem for problem in problems) or "    nothing")
        print("  expected problems at: " + ", ".join(sorted(expected)))
        sys.exit(1)
    print(f"{name}: self-test passed, {len(expected)} planted problems found")
