"""A validator for the part of JSON Schema that docs/schema uses; a keyword that it does not know is an error."""
import json
import re

from harness import ROOT

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SILENT = {"$schema", "$id", "title", "description", "$defs", "required", "additionalProperties"}


def schemas():
    """All of docs/schema by their identifiers."""
    return {s["$id"]: s for s in (json.loads(p.read_text()) for p in sorted((ROOT / "docs/schema").glob("*.json")))}


def is_a(value, name):
    """Whether a value has a JSON type."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "number":
        return number
    if name == "integer":
        return number and value == int(value)
    return isinstance(value, TYPES[name])


class Validator:
    """Collects what is wrong with one document."""

    def __init__(self, known, root):
        self.known, self.problems, self.roots = known, [], [root]

    def resolve(self, reference):
        """The root and the schema that a `$ref` names."""
        document, _, path = reference.partition("#")
        beside = self.roots[-1]["$id"].rsplit("/", 1)[0]
        root = self.known[f"{beside}/{document}"] if document else self.roots[-1]
        found = root
        for step in path.strip("/").split("/") if path.strip("/") else []:
            found = found[step]
        return root, found

    def inside(self, schema, value, at):
        """Whether a value fits, without noting why not."""
        other = Validator(self.known, self.roots[-1])
        other.check(schema, value, at)
        return not other.problems

    def check(self, schema, value, at="$"):
        """Notes every keyword that does not hold."""
        for keyword, rule in schema.items():
            if keyword == "$ref":
                root, target = self.resolve(rule)
                self.roots.append(root)
                self.check(target, value, at)
                self.roots.pop()
            elif keyword == "items":
                rest = value[len(schema.get("prefixItems", [])) :] if isinstance(value, list) else []
                if rule is False and rest:
                    self.problems.append(f"{at}: too many items")
                for i, item in enumerate(rest if rule is not False else []):
                    self.check(rule, item, f"{at}[{i}]")
            elif keyword == "prefixItems":
                for i, (one, item) in enumerate(zip(rule, value if isinstance(value, list) else [])):
                    self.check(one, item, f"{at}[{i}]")
            elif keyword == "properties":
                self.members(schema, value, at)
            elif keyword not in SILENT and not self.holds(keyword, rule, value, at):
                self.problems.append(f"{at}: {keyword} {rule} does not hold for {str(value)[:80]}")

    def holds(self, keyword, rule, value, at):
        """Whether a keyword about the value itself holds."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        plain = {
            "type": lambda: any(is_a(value, t) for t in ([rule] if isinstance(rule, str) else rule)),
            "const": lambda: value == rule,
            "enum": lambda: value in rule,
            "minimum": lambda: not number or value >= rule,
            "maximum": lambda: not number or value <= rule,
            "minItems": lambda: not isinstance(value, list) or len(value) >= rule,
            "maxItems": lambda: not isinstance(value, list) or len(value) <= rule,
            "uniqueItems": lambda: not isinstance(value, list) or len({json.dumps(v) for v in value}) == len(value),
            "minLength": lambda: not isinstance(value, str) or len(value) >= rule,
            "pattern": lambda: not isinstance(value, str) or re.search(rule, value) is not None,
            "anyOf": lambda: any(self.inside(s, value, at) for s in rule),
            "oneOf": lambda: sum(self.inside(s, value, at) for s in rule) == 1,
        }
        return plain[keyword]()

    def members(self, schema, value, at):
        """Properties: those required, those allowed."""
        if not isinstance(value, dict):
            return
        self.problems += [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            if name in schema["properties"]:
                self.check(schema["properties"][name], member, f"{at}.{name}")
            elif schema.get("additionalProperties") is False:
                self.problems.append(f"{at}: {name} is not in the schema")


def problems(document, known):
    """What is wrong with a document, against the schema that it names itself."""
    name = document.get("schema") if isinstance(document, dict) else None
    if name not in known:
        return [f"its schema is {name!r}"]
    validator = Validator(known, known[name])
    validator.check(known[name], document)
    return validator.problems
