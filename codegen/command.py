"""The codegen command."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .document import Document, Problem, SpecError
from .parse import parse
from .published import breaking_changes
from .render import HEADER, render
from .tools import ToolError, check_tools

HERE = Path(__file__).resolve().parent
# A checkout has rest.yaml beside codegen/; an installed package carries it inside.
INSTALLED = (HERE / "rest.yaml").exists()
SPEC = HERE / "rest.yaml" if INSTALLED else HERE.parent / "rest.yaml"
OUT = Path("generated") if INSTALLED else HERE.parent / "generated"
PACKAGE = "lance_namespace_client"
PUBLISHED = "openapi.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated package; the exit status is 1 where something is wrong."""
    options = _arguments(arguments)
    target: Path = options.out / PACKAGE
    try:
        check_tools()
        document = Document(options.spec)
        spec = parse(document)
        if not options.allow_breaking:
            published = target / PUBLISHED
            if options.published or published.exists():
                _refuse_breaking(document, options.published or published)
        texts = render(spec)
        differing = _differences(target, texts)
        if options.check:
            return _report(target, differing)
        _write(target, texts, differing)
    except (SpecError, ToolError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or target}: {error.strerror}", file=sys.stderr)
        return 1
    print(
        f"{target}: {len(spec.operations)} operations, {len(spec.models)} models, "
        f"{len(differing)} files changed"
    )
    return 0


def _refuse_breaking(document: Document, path: Path) -> None:
    try:
        published = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        cause = "is not JSON; take it from version control"
        raise SpecError([Problem(path, getattr(error, "lineno", None), cause)]) from error
    if problems := breaking_changes(document, published):
        hint = (
            "breaks what is published; add operations of a new name (<name>V2) instead, "
            "or pass --allow-breaking"
        )
        raise SpecError([*problems, Problem(document.path, None, hint)])


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


def _report(target: Path, differing: list[tuple[str, str]]) -> int:
    for name, how in differing:
        print(f"{target / name}: {how}", file=sys.stderr)
    if differing:
        noun = "file differs" if len(differing) == 1 else "files differ"
        print(f"{len(differing)} {noun}; run python -m {__package__}", file=sys.stderr)
    return 1 if differing else 0


def _write(target: Path, texts: dict[str, str], differing: list[tuple[str, str]]) -> None:
    stale = [target / name for name, how in differing if how == "is not generated"]
    foreign = [path for path in stale if not path.read_bytes().startswith(HEADER.encode())]
    if foreign:
        cause = "was not generated; move it out of the package"
        raise SpecError([Problem(path, None, cause) for path in foreign])
    for path in stale:
        path.unlink()
    for name, how in differing:
        if how != "is not generated":
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[name], encoding="utf-8", newline="\n")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description=f"Generate the {PACKAGE} package from a specification.",
        epilog=f"example: python -m {__package__} --spec my-rest.yaml --out generated --check",
    )
    parser.add_argument(
        "--spec", type=Path, default=SPEC, help="the specification (default: rest.yaml)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        help=f"folder that {PACKAGE} is written into (default: generated)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where files differ"
    )
    parser.add_argument(
        "--published",
        type=Path,
        help=f"the {PUBLISHED} that must not be broken (default: the one in the package there is)",
    )
    parser.add_argument(
        "--allow-breaking",
        action="store_true",
        help="accept changes that break published operations",
    )
    return parser.parse_args(arguments)
