"""The codegen command."""

from __future__ import annotations

import argparse
import json
import keyword
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from attrs import frozen

from .asynchronous import async_modules
from .document import Document, Problem, SpecError
from .merge import ORIGIN, Merged, merge
from .parse import parse
from .published import breaking_changes
from .render import HEADER, render
from .tools import ToolError, check_tools
from .upstream import differences, read

HERE = Path(__file__).resolve().parent
# In a checkout, rest.yaml is next to codegen/; an installed package contains rest.yaml.
INSTALLED = (HERE / "rest.yaml").exists()
SPEC = HERE / "rest.yaml" if INSTALLED else HERE.parent / "rest.yaml"
OUT = Path("generated") if INSTALLED else HERE.parent / "generated"
OBJECTS = HERE.parent / "lance_namespace_impls" / "objects"
PACKAGE = "lance_namespace_client"
PUBLISHED = "openapi.json"
ALL = "*"
# A response with an error status that only this specification has.
ONLY_FAILURE = re.compile(r", response [45]\w\w: only here$")
GENERATED = b"# Generated from "
PROGRAM = f"python -m {__package__}"


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Write or check the generated package; return the exit status, which is 1 after an error.

    Args:
        arguments: the command-line arguments; default to those of the process.
        program: name of the command in generated files and messages.
    """
    options = _arguments(arguments, program)
    target: Path = options.out / options.package
    try:
        check_tools()
        if options.check_upstream is not None:
            return _compare(options.spec, options.check_upstream)
        if options.from_upstream is not None:
            return _adopt(options, program)
        document = Document(options.spec)
        spec = parse(document)
        allowed = frozenset(options.allow_breaking or ())
        if (
            ALL not in allowed
            and (published := options.published or _last(target, document)) is not None
        ):
            _reject_breaking(document, published, allowed)
        texts = render(spec, _header(options, program))
        changes = [_Changes(target, texts, _differences(target, texts))]
        if _is_own_package(options):
            objects = async_modules(OBJECTS, [each.method_name for each in spec.operations])
            changes.append(_Changes(OBJECTS, objects, _outdated(OBJECTS, objects)))
        if options.check:
            return max([_report(each, program) for each in changes])
        for each in changes:
            _write(each)
    except (SpecError, ToolError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or target}: {error.strerror}", file=sys.stderr)
        return 1
    print(
        f"{target}: {len(spec.operations)} operations, {len(spec.models)} models, "
        f"{sum(len(each.differing) for each in changes)} files changed"
    )
    return 0


def _last(target: Path, document: Document) -> Path | None:
    """Return the published document: the last one generated, or that of the installed package.

    A document that was merged from upstream's is compared with its own package only.
    """
    if (beside := target / PUBLISHED).exists():
        return beside
    is_merged = ORIGIN in document.data["info"]
    found = find_spec(PACKAGE) if target.name != PACKAGE and not is_merged else None
    if found is None or not found.submodule_search_locations:
        return None
    installed = Path(found.submodule_search_locations[0]) / PUBLISHED
    return installed if installed.exists() else None


def _header(options: argparse.Namespace, program: str) -> str:
    """Return the first lines of every file, which contain the command that generates the file.

    Absolute paths are reduced to file names, and absolute folders are omitted, so that the package
    does not depend on where it was generated.
    """
    if options.package == PACKAGE and options.spec == SPEC:
        return HEADER
    spec = options.spec.name if options.spec.is_absolute() else options.spec.as_posix()
    command = f"{program} --spec {shlex.quote(spec)} --package {options.package}"
    if options.out != OUT and not options.out.is_absolute():
        command += f" --out {shlex.quote(options.out.as_posix())}"
    return f"# Generated from {spec}; edit that file instead, and run\n# {command}"


def _compare(spec: Path, path: Path) -> int:
    found = sorted(set(differences(read(spec), read(path))), key=lambda each: each.cause)
    for each in found:
        print(each)
    noun = "difference" if len(found) == 1 else "differences"
    print(f"{len(found)} {noun} between {spec.name} and {path.name}")
    return 1 if found else 0


def _adopt(options: argparse.Namespace, program: str) -> int:
    """Merge the changes from upstream's document into the specification, write it, and report them."""
    spec: Path = options.spec
    to: Path = options.annotated or Path(SPEC.name)
    if options.annotated is None and to.exists() and not (spec.exists() and to.samefile(spec)):
        cause = f"exists; pass --spec {to} to update it, or --annotated FILE for another file"
        raise SpecError([Problem(to, None, cause)])
    with tempfile.TemporaryDirectory() as folder:
        is_new = not (to.exists() and to.samefile(spec))
        merged = merge(Document(spec), read(options.from_upstream), Path(folder), is_new=is_new)
        copy = Path(folder) / to.name
        copy.write_text(merged.text, encoding="utf-8")
        try:
            parse(Document(copy))
        except SpecError as error:
            raise SpecError(
                [Problem(options.from_upstream, None, each.cause) for each in error.problems]
            ) from error
    _report_merge(merged)
    before = to.read_text("utf-8") if to.exists() else None
    if before == merged.text:
        print(f"{to}: unchanged")
        return 0
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(merged.text, encoding="utf-8", newline="\n")
    is_default = to.exists() and SPEC.exists() and to.samefile(SPEC)
    print(f"{to}: written; next: {program}" + ("" if is_default else f" --spec {to}"))
    return 0


def _report_merge(merged: Merged) -> None:
    failures = [each for each in merged.kept if ONLY_FAILURE.search(each)]
    kept = [each for each in merged.kept if each not in failures]
    sections = {
        "new operations, with default annotations to review": merged.added,
        "removed": merged.removed,
        "adopted": merged.changed,
        "not enforced or not generated": merged.notes,
        "kept, although upstream's document differs": kept,
    }
    for title, lines in sections.items():
        if lines:
            print(f"{title} ({len(lines)}):")
            for line in lines:
                print(f"  {line}")
    if failures:
        print(f"kept {len(failures)} error responses that upstream's document does not list")


def _reject_breaking(document: Document, path: Path, allowed: frozenset[str]) -> None:
    try:
        published = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        cause = "is not JSON; restore it from version control"
        raise SpecError([Problem(path, getattr(error, "lineno", None), cause)]) from error
    if problems := breaking_changes(document, published, allowed):
        hint = (
            "breaks the published protocol; add operations with a new name (<name>V2) instead, "
            "or pass --allow-breaking"
        )
        raise SpecError([*problems, Problem(document.path, None, hint)])


@frozen
class _Changes:
    """The files to generate in a folder, and how the existing files differ from them."""

    target: Path
    texts: dict[str, str]
    differing: list[tuple[str, str]]


def _is_own_package(options: argparse.Namespace) -> bool:
    """Return whether the package of this project is generated, in a checkout."""
    own = (PACKAGE, SPEC, OUT)
    return not INSTALLED and (options.package, options.spec, options.out) == own


def _outdated(target: Path, texts: dict[str, str]) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for name, text in sorted(texts.items()):
        path = target / name
        if not path.exists():
            out.append((name, "is missing"))
        elif path.read_bytes() != text.encode():
            out.append((name, "differs"))
    return out


def _differences(target: Path, texts: dict[str, str]) -> list[tuple[str, str]]:
    out = _outdated(target, texts)
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and name not in texts:
            out.append((name, "is not generated"))
    return out


def _report(changes: _Changes, program: str) -> int:
    differing = changes.differing
    for name, how in differing:
        print(f"{changes.target / name}: {how}", file=sys.stderr)
    if differing:
        noun = "file differs" if len(differing) == 1 else "files differ"
        print(f"{len(differing)} {noun}; run {program}", file=sys.stderr)
    return 1 if differing else 0


def _write(changes: _Changes) -> None:
    target, texts, differing = changes.target, changes.texts, changes.differing
    stale = [target / name for name, how in differing if how == "is not generated"]
    foreign = [path for path in stale if not path.read_bytes().startswith(GENERATED)]
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


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports errors on one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def _arguments(arguments: Sequence[str] | None, program: str) -> argparse.Namespace:
    parser = _Parser(
        prog=program,
        description="Generate a client package from a specification.",
        epilog=f"example: {program} --spec my-rest.yaml --package my_client --out src\n"
        f"example: {program} --from-upstream upstream.yaml --annotated my-rest.yaml",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--spec", type=Path, default=SPEC, help="the specification (default: rest.yaml)"
    )
    parser.add_argument(
        "--package",
        type=_package,
        default=PACKAGE,
        metavar="NAME",
        help=f"name of the package (default: {PACKAGE})",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        help="parent folder of the package (default: generated)",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if files differ"
    )
    parser.add_argument(
        "--published",
        type=Path,
        help=f"the {PUBLISHED} that must not be broken (default: the one that was generated last, "
        "or that of the installed package)",
    )
    parser.add_argument(
        "--allow-breaking",
        nargs="?",
        const=ALL,
        action="append",
        metavar="OPERATION",
        help="accept changes that break this operation, or any operation if no name is passed; "
        "may be repeated",
    )
    parser.add_argument(
        "--check-upstream",
        type=Path,
        metavar="FILE",
        help="write nothing; list the differences from another OpenAPI document of the protocol, "
        "and exit 1 if there are any",
    )
    parser.add_argument(
        "--from-upstream",
        type=Path,
        metavar="FILE",
        help="write the specification with the changes of upstream's OpenAPI document, and list "
        "them; annotations, descriptions and routes by name are kept",
    )
    parser.add_argument(
        "--annotated",
        type=Path,
        metavar="FILE",
        help="with --from-upstream: the file to write (default: rest.yaml in the current folder)",
    )
    return parser.parse_args(arguments)


def _package(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a Python package")
    return text
