"""Parses each Terraform file that is given. Ends with 1 at the first that does not parse, or that names a resource that it lacks."""

import re
import sys

import hcl2

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    parsed = hcl2.loads(text)
    # `reference = aws_iam_role.ci.arn` names a resource that the file has.
    names = {
        f"{kind}.{name}".replace('"', "")
        for resource in parsed.get("resource", [])
        for kind, named in resource.items()
        for name in named
    }
    for reference in re.findall(r"\b(aws_\w+\.\w+)\.(?:id|arn)\b", text):
        if reference not in names:
            sys.exit(f"{path}: {reference} is used and not declared")
