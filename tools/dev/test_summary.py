"""Prints the closing lines of ./dev test: what failed, then "N passed, N failed, N skipped".

usage: test_summary.py JUNIT_FILE CTEST_EXIT_CODE

Counts what CTest wrote as JUnit XML. A case that could not be started is a failure, not a skip: CTest
files both under "notrun", and only its message tells them apart. Of each failure there is a line
"failed: NAME" and the end of what it printed. Exit code 0 when nothing failed and CTest was content,
else 1.
"""

import sys
import xml.etree.ElementTree as ElementTree


def outcome_of(case):
    """'passed', 'failed' or 'skipped' for one <testcase>."""
    status = case.get("status")
    if status == "run":
        return "passed"
    if status == "disabled":
        return "skipped"
    reason = case.find("skipped")
    if status == "notrun" and reason is not None:
        return "skipped" if reason.get("message", "").startswith("SKIP_") else "failed"
    return "failed"


LINES_OF_A_FAILURE = 30


def end_of_output(case):
    """The last lines that a <testcase> printed, indented."""
    printed = (case.findtext("system-out") or "").rstrip().splitlines()
    return "".join(f"  {line}\n" for line in printed[-LINES_OF_A_FAILURE:])


def count(junit_file):
    """How many passed, failed and were skipped; says of each failure what it printed."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(junit_file).getroot().iter("testcase"):
        outcome = outcome_of(case)
        counts[outcome] += 1
        if outcome == "failed":
            print(f"failed: {case.get('name')}\n{end_of_output(case)}", end="")
    return counts


def main(arguments):
    junit_file, ctest_exit_code = arguments[0], int(arguments[1])
    try:
        counts = count(junit_file)
    except (OSError, ElementTree.ParseError) as error:
        print(f"failed: no test ran: {error}")
        counts = {"passed": 0, "failed": 1, "skipped": 0}
    if ctest_exit_code != 0 and counts["failed"] == 0:
        print(f"failed: ctest ended with exit code {ctest_exit_code}")
        counts["failed"] = 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
