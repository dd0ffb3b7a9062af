#!/usr/bin/env python3
"""Documents against docs/schema, by the validator of the package jsonschema: `schema.py FILE...`."""
import functools
import json
import pathlib
import sys

import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/schema"


@functools.cache
def validators():
    """Validators of all of docs/schema by their identifiers; a file that is no schema is an error."""
    schemas = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(schema)
    return {schema["$id"]: jsonschema.Draft202012Validator(schema) for schema in schemas}


def problems(document):
    """What is wrong with a document, against the schema that it names itself."""
    name = document.get("schema") if isinstance(document, dict) else None
    if name not in validators():
        return [f"its schema is {name!r}"]
    return [f"{e.json_path}: {e.message[:200]}" for e in validators()[name].iter_errors(document)]


def objects(schema, at="$"):
    """Every description of an object in a schema, with its place."""
    if isinstance(schema, dict):
        if "properties" in schema and isinstance(schema.get("type"), (str, list)):
            yield at, schema
        for name, inner in schema.items():
            yield from objects(inner, f"{at}.{name}")
    elif isinstance(schema, list):
        for i, inner in enumerate(schema):
            yield from objects(inner, f"{at}[{i}]")


def main(files):
    """Checks each file."""
    wrong = [f"{file}: {problem}" for file in files for problem in problems(json.loads(pathlib.Path(file).read_text()))]
    print("\n".join(wrong) or f"{len(files)} documents are of their schemas")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
