"""Prints the closing line of ./dev test: "N passed, N failed, N skipped".

usage: test_summary.py JUNIT_FILE CTEST_EXIT_CODE

Counts what CTest wrote as JUnit XML. A case that could not be started is a failure, not a skip: CTest
files both under "notrun", and only its message tells them apart. Exit code 0 when nothing failed and
CTest was content, else 1.
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


def count(junit_file):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(junit_file).getroot().iter("testcase"):
        counts[outcome_of(case)] += 1
    return counts


def main(arguments):
    junit_file, ctest_exit_code = arguments[0], int(arguments[1])
    try:
        counts = count(junit_file)
    except (OSError, ElementTree.ParseError) as error:
        print(f"no test ran: {error}", file=sys.stderr)
        counts = {"passed": 0, "failed": 1, "skipped": 0}
    if ctest_exit_code != 0 and counts["failed"] == 0:
        print(f"ctest ended with exit code {ctest_exit_code}", file=sys.stderr)
        counts["failed"] = 1
    sys.stdout.flush()
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
