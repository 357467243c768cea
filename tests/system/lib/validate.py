"""validate.py SCHEMA [DOCUMENT...]: print what does not fit, exit 1; without a document look at the schema itself"""
import json
import sys

import jsonschema


def undescribed(node, path):
    """Properties without a description, and objects that allow unknown ones."""
    found = []
    if isinstance(node, dict):
        if "properties" in node:
            if node.get("additionalProperties") is not False:
                found.append(f"{path}: allows other properties")
            found += [f"{path}.{name}: has no description" for name, sub in node["properties"].items()
                      if "description" not in sub and "$ref" not in sub]
        for key, sub in node.items():
            if key in ("if", "then", "else", "not"):
                continue  # conditions narrow what is described elsewhere
            found += undescribed(sub, f"{path}/{key}")
    elif isinstance(node, list):
        for i, sub in enumerate(node):
            found += undescribed(sub, f"{path}/{i}")
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    wrong = undescribed(schema, "")
    validator = jsonschema.Draft202012Validator(schema)
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as f:
            wrong += [f"{name}: {'/'.join(map(str, e.absolute_path))}: {e.message}"
                      for e in validator.iter_errors(json.load(f))]
    for line in wrong:
        print(line)
    return bool(wrong)


sys.exit(main())
