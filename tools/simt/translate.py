"""A .cu file as C++ for tools/simt.

usage: translate.py IN OUT ROOT

Headers below ROOT that launch kernels are translated into OUT, in place of their #include. OUT.d says
for ninja which they are.
"""

import pathlib
import re
import sys

OPENING, CLOSING = "([{", ")]}"


def kernel_before(text, end):
    """Where the name of the kernel begins, with its template arguments, that ends at `end`."""
    depth = 0
    while end > 0:
        c = text[end - 1]
        depth += (c == ">") - (c == "<")
        if depth == 0 and c != "<" and not (c.isalnum() or c in "_:"):
            break
        end -= 1
    return end


def arguments(text, begin, closing):
    """The arguments from `begin` on, split at commas, and where `closing` stands."""
    found, depth, first, at = [], 0, begin, begin
    while depth > 0 or not text.startswith(closing, at):
        depth += (text[at] in OPENING) - (text[at] in CLOSING)
        if depth == 0 and text[at] == ",":
            found.append(text[first:at])
            first = at + 1
        at += 1
    if text[first:at].strip():
        found.append(text[first:at])
    return found, at


def translate(text):
    text = re.sub(r"const __grid_constant__ (\w+) (\w+)", r"const \1& \2", text)
    text = re.sub(r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];",
                  r"\1* \2 = reinterpret_cast<\1*>(simt::Shared());", text)
    while (at := text.find("<<<")) >= 0:
        name_end = len(text[:at].rstrip())
        begin = kernel_before(text, name_end)
        shape, end = arguments(text, at + 3, ">>>")
        given, last = arguments(text, text.index("(", end) + 1, ")")
        shape += ["0", "nullptr"][len(shape) - 2:]
        call = f"[&](const auto&... simt_args) {{ {text[begin:name_end]}(simt_args...); }}"
        text = f"{text[:begin]}simt::Launch({', '.join([call, *shape, *given])}{text[last:]}"
    return text


class Headers:
    """The headers that launch kernels, in place of their first #include."""

    def __init__(self, root):
        self.root = root
        self.paths = []

    def inline(self, text, source):
        lines = []
        for number, line in enumerate(text.split("\n"), start=1):
            include = re.fullmatch(r'#include "(.*\.cuh)"', line)
            path = self.root / include[1] if include else None
            header = path.read_text(encoding="utf-8") if path and path.is_file() else ""
            if "<<<" not in header:
                lines.append(line)
                continue
            if path not in self.paths:
                self.paths.append(path)
                within = self.inline(header.replace("#pragma once", ""), path)
                lines += [f'#line 1 "{path}"', within]
            lines.append(f'#line {number + 1} "{source}"')
        return "\n".join(lines)


def main():
    source, made, root = sys.argv[1:]
    headers = Headers(pathlib.Path(root))
    text = headers.inline(pathlib.Path(source).read_text(encoding="utf-8"), source)
    with open(made, "w", encoding="utf-8") as file:
        file.write(f'#line 1 "{source}"\n' + translate(text))
    with open(made + ".d", "w", encoding="utf-8") as file:
        file.write(f"{made}: {' '.join(map(str, headers.paths))}\n")


if __name__ == "__main__":
    main()
