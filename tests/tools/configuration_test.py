"""docs/configuration.md is what the settings tables in the code say.

usage: configuration_test.py SETTINGS_DOC_PROGRAM PAGE
"""

import difflib
import subprocess
import sys
from pathlib import Path


def main(arguments):
    program, page = arguments
    wanted = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    found = Path(page).read_text(encoding="utf-8")
    difference = list(difflib.unified_diff(found.splitlines(), wanted.splitlines(), page,
                                           "settings tables", lineterm=""))
    if difference:
        print("\n".join(difference))
        print("\nThe page is behind the code: run ./dev docs")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
