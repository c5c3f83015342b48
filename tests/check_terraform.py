"""Parses each block of Terraform in the Markdown files that are given. Ends with 1 at the first that does not parse."""

import re
import sys

import hcl2

blocks = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for block in re.findall(r"^```hcl\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        parsed = hcl2.loads(block)
        # `reference = aws_iam_role.ci.arn` names a resource that the block has.
        names = {
            f"{kind}.{name}".replace('"', "")
            for resource in parsed.get("resource", [])
            for kind, named in resource.items()
            for name in named
        }
        for reference in re.findall(r"\b(aws_\w+\.\w+)\.(?:id|arn)\b", block):
            if reference not in names:
                sys.exit(f"{path}: {reference} is used and not declared")
        blocks += 1
if not blocks:
    sys.exit("no block of Terraform was found")
print(f"{blocks} parsed")
