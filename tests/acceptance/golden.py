#!/usr/bin/env python3
"""What documents of the version before look like: `golden.py --homenode PATH FOLDER` writes a document of each kind there, and
`golden.py --members FILE` every member of docs/schema, a line each. docs/json.md says when that is done."""
import argparse
import json
import pathlib
import tempfile

import check_json
import schema
from check_bad_input import source
from harness import ROOT, Session

FOLDER = pathlib.Path(__file__).parent / "golden"
MEMBERS = FOLDER / "members.txt"
# Kinds whose documents say what this machine is, or are of a run of minutes: their members are promised, and no document is kept.
LEFT_OUT = {"doctor", "topo", "reproduce"}


def resolved(node, root):
    """A schema, looked up if it is a reference."""
    while isinstance(node, dict) and "$ref" in node:
        node = root["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node if isinstance(node, dict) else {}


def alternatives(node, root):
    """A schema and all that it may be instead, or is besides."""
    node = resolved(node, root)
    yield node
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in node.get(word, ()):
            yield from alternatives(inner, root)


NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null", list: "array", dict: "object"}


def types(node, root):
    """The types of JSON that a schema allows; none if it allows all."""
    found = set()
    for part in alternatives(node, root):
        listed = part.get("type", [])
        found |= {listed} if isinstance(listed, str) else set(listed)
        if "type" not in part:
            found |= {NAMES[type(value)] for value in part.get("enum", [part["const"]] if "const" in part else [])}
    return found


def members(root):
    """Every member that a schema describes: its path, and whether it is always written and of which types it is."""
    found, open_parts = {}, []

    def note(path, always, allowed):
        before = found.get(path, (True, set()))
        found[path] = (before[0] and always, before[1] | allowed)

    def walk(node, at):
        for part in alternatives(node, root):
            if any(part is o for o in open_parts):
                continue
            open_parts.append(part)
            for name, inner in part.get("properties", {}).items():
                note(f"{at}.{name}", name in part.get("required", []), types(inner, root))
                walk(inner, f"{at}.{name}")
            for inner in [part["items"]] if isinstance(part.get("items"), dict) else []:
                walk(inner, f"{at}[]")
            for i, inner in enumerate(part.get("prefixItems", [])):
                walk(inner, f"{at}[{i}]")
            if isinstance(part.get("additionalProperties"), dict):
                walk(part["additionalProperties"], f"{at}.*")
            open_parts.pop()

    walk(root, "$")
    return found


def promised():
    """The lines of a file of members: kind, number and path, with whether it is always written and its types."""
    for line in MEMBERS.read_text().splitlines():
        kind, path, always, allowed = line.split(" ")
        yield kind, path, always == "always", set(filter(None, allowed.split("|")))


def write_members(file):
    lines = []
    for name, validator in sorted(schema.validators().items()):
        for path, (always, allowed) in members(validator.schema).items():
            lines.append(f"{name.rsplit('/', 1)[1]} {path} {'always' if always else 'sometimes'} {'|'.join(sorted(allowed))}")
    file.write_text("\n".join(lines) + "\n")


def write_documents(homenode, folder):
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        session = Session(homenode, temporary)
        made = session.path("json")
        made.mkdir()
        program = source(session, "talks", check_json.TALKS)
        for name, arguments in check_json.commands(session, program, made):
            if name.split(" ")[0].split("-")[0] in LEFT_OUT:
                continue
            said = session.run(*arguments, status={0, 1}).stdout
            text = (made / "plan.json").read_text() if name == "plan" else said
            document = json.loads(text)
            file = "-".join(name.replace("--", "").split())
            if file == "report" and (folder / "report.json").exists():
                file = f"report-{document['evaluations'][0]['machine']}-{len(document['evaluations'])}"
            # Where it was made, nobody needs to see.
            text = json.dumps(document, separators=(",", ":")).replace(temporary, "/tmp/golden").replace(str(ROOT), "/src/homenode")
            (folder / f"{file}.json").write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homenode", type=pathlib.Path)
    parser.add_argument("--members", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    options = parser.parse_args()
    if options.members:
        write_members(options.members)
    if options.folder:
        write_documents(options.homenode, options.folder)


if __name__ == "__main__":
    main()
