"""The codegen command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .document import Document, SpecError
from .parse import parse
from .published import breaking_changes
from .render import render

HERE = Path(__file__).resolve().parent
# A checkout has rest.yaml beside codegen/; an installed package carries it inside.
SPEC = HERE / "rest.yaml" if (HERE / "rest.yaml").exists() else HERE.parent / "rest.yaml"
PACKAGE = "lance_namespace_client"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated package; the exit status is 1 where something is wrong."""
    options = _arguments(arguments)
    target = options.out / PACKAGE
    try:
        document = Document(options.spec)
        spec = parse(document)
        published = target / "openapi.json"
        if published.exists() and not options.allow_breaking:
            problems = breaking_changes(document, json.loads(published.read_text("utf-8")))
            if problems:
                raise SpecError(
                    [*problems, "add a new operation (<name>V2), or pass --allow-breaking"]
                )
    except SpecError as error:
        print(error, file=sys.stderr)
        return 1
    texts = render(spec)
    differing = _differences(target, texts)
    if options.check:
        for name, how in differing:
            print(f"{target / name}: {how}", file=sys.stderr)
        if differing:
            print(f"{len(differing)} files differ; run python -m codegen", file=sys.stderr)
        return 1 if differing else 0
    for name, how in differing:
        path = target / name
        if how == "is not generated":
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8", newline="\n")
    print(
        f"{target}: {len(spec.operations)} operations, {len(spec.models)} models, "
        f"{len(differing)} files changed"
    )
    return 0


def _differences(target: Path, texts: dict[str, str]) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for name, text in sorted(texts.items()):
        path = target / name
        if not path.exists():
            out.append((name, "is missing"))
        elif path.read_bytes() != text.encode():
            out.append((name, "differs"))
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and name not in texts:
            out.append((name, "is not generated"))
    return out


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Generate the lance_namespace_client package from a specification.",
        epilog=f"example: python -m {__package__} --spec my-rest.yaml --out generated --check",
    )
    parser.add_argument(
        "--spec", type=Path, default=SPEC, help="the specification (default: rest.yaml)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=SPEC.parent / "generated" if SPEC.parent != HERE else Path("generated"),
        help=f"folder that {PACKAGE} is written into (default: generated)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where files differ"
    )
    parser.add_argument(
        "--allow-breaking",
        action="store_true",
        help="accept a change of a published operation (a field removed or newly required)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
