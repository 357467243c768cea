"""report.py FILE EXPRESSION...   print the expressions that do not hold over the report's fields; exit 1 if there are any
report.py FILE --mechanism NAME   exit 0 if the mechanism was enforced, else print how it was found
"""
import json
import sys


class Fields(dict):
    __getattr__ = dict.__getitem__


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        report = json.load(f, object_hook=Fields)
    if sys.argv[2] == "--mechanism":
        found = report.mechanisms[sys.argv[3]]
        print(found.how or found.state)
        return found.state != "enforced"
    report["guarantee"] = {g.id: g for g in report.guarantees}
    false = [e for e in sys.argv[2:] if not eval(e, {}, report)]  # our own words, not the workload's
    for expression in false:
        print("does not hold:", expression)
    if false:
        print(json.dumps({k: v for k, v in report.items() if k not in ("guarantee", "guarantees", "mechanisms")}))
    return bool(false)


sys.exit(main())
