"""A template as CloudFormation gets it: what SAM makes of it, written to standard output as JSON.

Runs in SAM's own environment: `.tools/sam/bin/python infra/local/transformed.py template.yaml`.
"""

import json
import sys
from pathlib import Path

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse


class _NoPolicies:
    """The managed policies of AWS by name: our templates name none, and nobody has to ask AWS."""

    def load(self) -> dict[str, str]:
        return {}


def main() -> None:
    """Write the template that is named."""
    template = yaml_parse(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for each in template["Resources"].values():
        for key in ("CodeUri", "ContentUri", "Location"):  # `sam package` puts these into a bucket
            if key in each["Properties"]:
                each["Properties"][key] = "s3://bucket/key"
    defaults = {name: each["Default"] for name, each in template["Parameters"].items() if "Default" in each}
    json.dump(transform(template, defaults, _NoPolicies()), sys.stdout)


if __name__ == "__main__":
    main()
