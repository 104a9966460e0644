"""Links of the documentation lead somewhere: every relative one to a file, and to a heading of it.

usage: docs_links_test.py [ROOT]

Prints each finding as file: link. Before that it checks itself. Exit code 0 without findings.
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
FOLDERS_LEFT_OUT = re.compile(r"^(build|\.)")


def prose_of(text):
    """Without blocks of code, whose # are no headings."""
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchor_of(heading):
    """As GitHub makes it of a heading's text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors_of(text):
    return {anchor_of(heading) for heading in re.findall(r"^#+ (.*)$", prose_of(text), re.M)}


def findings_of(pages, exists):
    """pages: text by path. exists(path): whether such a file or folder is there."""
    for path, text in pages.items():
        for link in LINK.findall(prose_of(text)):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            page = (path.parent / target).resolve() if target else path
            if not exists(page):
                yield f"{path}: {link}: there is no such file"
            elif anchor and page in pages and anchor not in anchors_of(pages[page]):
                yield f"{path}: {link}: there is no such heading"


def self_test():
    a, b = Path("/x/a.md"), Path("/x/d/b.md")
    pages = {a: "# One `two`, three\n```\n# no\n[x](gone.md)\n```\n[b](d/b.md#four) [w](https://w/)",
             b: "## Four\n[a](../a.md#one-two-three) [g](gone.md) [n](../a.md#no) [s](#five)"}
    found = list(findings_of(pages, lambda path: path in pages))
    expected = [f"{b}: gone.md: there is no such file", f"{b}: ../a.md#no: there is no such heading",
                f"{b}: #five: there is no such heading"]
    return [] if found == expected else [f"self test: expected {expected}, found {found}"]


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parents[2]).resolve()
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.md"))
             if not FOLDERS_LEFT_OUT.match(path.relative_to(root).parts[0])}
    findings = self_test() + list(findings_of(pages, Path.exists))
    if not pages:
        findings.append(f"{root}: no pages found")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
