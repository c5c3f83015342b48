#!/usr/bin/env python3
"""Judges what the tests said to the fake AWS, and what it answered, by AWS's own service model.

Usage: check_exchanges.py FOLDER

FOLDER holds files of JSON lines, {"service", "operation", "input" or "output"}, keys as on the wire; the tests write them
to target/tmp/aws-exchanges. botocore's ParamValidator knows types, required members, unknown members and least lengths;
greatest lengths, enumerations and patterns are looked up in the same model here, since the services refuse those too.

Prints each distinct problem once, with how often it was seen. Exits 1 on any, and where there is nothing to judge.
"""

import collections
import json
import pathlib
import re
import sys

import botocore.session
from botocore.validate import ParamValidator


def limits(shape, value, path):
    """Yields what is wrong with a value that ParamValidator does not look at."""
    if shape.type_name == "structure" and isinstance(value, dict):
        for name, member in shape.members.items():
            if name in value:
                yield from limits(member, value[name], f"{path}.{name}")
    elif shape.type_name == "list" and isinstance(value, list):
        yield from longest(shape, len(value), path)
        for element in value:
            yield from limits(shape.member, element, f"{path}[]")
    elif shape.type_name == "map" and isinstance(value, dict):
        yield from longest(shape, len(value), path)
        for key, element in value.items():
            yield from limits(shape.key, key, f"{path} (key)")
            yield from limits(shape.value, element, f"{path}.{key}")
    elif shape.type_name == "string" and isinstance(value, str):
        yield from longest(shape, len(value), path)
        if shape.enum and value not in shape.enum:
            yield f"{path}: {value!r} is not one of {shape.name}'s values"
        pattern = shape.metadata.get("pattern")
        if pattern and not matches(pattern, value):
            yield f"{path}: {value!r} does not match {pattern}"
    elif shape.type_name in ("integer", "long", "float", "double"):
        if isinstance(value, (int, float)) and value > shape.metadata.get("max", value):
            yield f"{path}: {value} is above {shape.metadata['max']}"


def longest(shape, length, path):
    most = shape.metadata.get("max")
    if most is not None and length > most:
        yield f"{path}: length {length} is above {most}"


def matches(pattern, value):
    try:
        return re.fullmatch(pattern, value) is not None
    except re.error:
        # The model's patterns are Java's; Python does not know their Unicode classes.
        return True


def problems(model, exchange):
    """Yields everything that is wrong with one exchange."""
    operation = model.operation_model(exchange["operation"])
    direction = "input" if "input" in exchange else "output"
    shape = operation.input_shape if direction == "input" else operation.output_shape
    value = exchange[direction]
    title = f"{exchange['service']} {exchange['operation']} {direction}"
    if shape is None:
        if value:
            yield f"{title}: the operation has none, but there is {value!r}"
        return
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        for line in report.generate_report().splitlines():
            yield f"{title}: {line}"
    for line in limits(shape, value, ""):
        yield f"{title}: {line}"


def main():
    folder = pathlib.Path(sys.argv[1])
    session = botocore.session.get_session()
    models = {}
    judged = 0
    seen = collections.Counter()
    operations = set()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            exchange = json.loads(line)
            service = exchange["service"]
            if service not in models:
                models[service] = session.get_service_model(service)
            judged += 1
            operations.add((service, exchange["operation"]))
            seen.update(set(problems(models[service], exchange)))
    for problem, count in sorted(seen.items()):
        print(f"{count} x {problem}")
    print(f"{judged} requests and answers of {len(operations)} operations judged, {len(seen)} problems")
    if judged == 0:
        print(f"no exchange in {folder}: did the tests with the fake AWS run?")
    return 1 if seen or judged == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
