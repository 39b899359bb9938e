"""A self-contained HTML page of one or several reports, and a badge."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["badge", "page"]

_MARKS = {"pass": "✓", "fail": "✗", "skip": "-", "disabled": "○", "not reached": "…"}
_WORD = 4000
_STYLE = """
:root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--soft:#f3f4f6;--line:#d0d7de;--pass:#1a7f37;
--fail:#b3261e;--skip:#6e7781}
@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--soft:#161b22;--line:#30363d;
--pass:#3fb950;--fail:#ff7b72;--skip:#8b949e}}
*{box-sizing:border-box}body{margin:0 auto;max-width:76rem;padding:1rem;color:var(--fg);
background:var(--bg);font:16px/1.5 system-ui,sans-serif}h1{font-size:1.5rem}h2{font-size:1.15rem;
margin-top:2rem}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.3rem
.5rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}th{position:sticky;top:0;
background:var(--bg)}.pass{color:var(--pass)}.fail{color:var(--fail);font-weight:600}.skip,.disabled,
.reached{color:var(--skip)}pre{background:var(--soft);padding:.6rem;overflow-x:auto;border-radius:6px;
font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}details{border:1px solid var(--line);
border-radius:6px;margin:.5rem 0;padding:.4rem .7rem}summary{cursor:pointer;overflow-wrap:anywhere}
label{margin-right:1rem;white-space:nowrap}#c-pass:not(:checked)~main .r-pass,#c-fail:not(:checked)~main
.r-fail,#c-skip:not(:checked)~main .r-skip{display:none}.id{white-space:nowrap;font-family:monospace}
p{overflow-wrap:anywhere}#operations span{white-space:nowrap}.show{display:inline-block;margin:1rem 1rem 0 0}
th small{display:block;font-weight:400;color:var(--skip);overflow-wrap:anywhere}
@media(max-width:30rem){body{padding:.5rem}h1{font-size:1.25rem}.id{white-space:normal;
font-size:.75rem}th,td{padding:.2rem .25rem;font-size:.85rem}
#matrix td:nth-child(2){min-width:8rem;overflow-wrap:anywhere}}
"""


def page(reports: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> str:
    """Return reports as one HTML page with a column per target; it works without JavaScript.

    Args:
        reports: the reports.
        names: heading of each report; its target by default.
    """
    names = names or [report["target"] for report in reports]
    title = "Lance namespace conformance"
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>",
        "<div class=wide><table id=summary><thead><tr><th>Target<th class=pass>pass"
        "<th class=fail>fail<th>skip<th>disabled<th>not reached<th>seconds<th>kit</thead><tbody>",
    ]
    for report, name in zip(reports, names, strict=True):
        counts = report["summary"]
        cells = "".join(f"<td>{counts[key]}" for key in _MARKS)
        parts.append(
            f"<tr><th scope=row>{_heading(report, name)}{cells}<td>{report['seconds']:.1f}"
            f"<td>{escape(report['version'])}"
        )
    parts.append("</tbody></table></div><b class=show>Show:</b>")
    for name, text in (("fail", "failed"), ("pass", "passed"), ("skip", "other results")):
        parts.append(f"<input type=checkbox id=c-{name} checked><label for=c-{name}>{text}</label>")
    parts.append("<main>")
    parts += _operations(reports, names)
    parts += _matrix(reports, names)
    parts += _failures(reports, names)
    parts.append("</main></body></html>")
    return "\n".join(parts) + "\n"


def _heading(report: Mapping[str, Any], name: str) -> str:
    target = report["target"]
    return escape(name) + ("" if name == target else f"<small>{escape(target)}</small>")


def _operations(reports: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return the table of operations and how many checks have each result."""
    operations = sorted({o for r in reports for e in r["checks"] for o in e["operations"]})
    parts = ["<h2>Operations</h2><div class=wide><table id=operations><thead><tr><th>Operation"]
    parts += [f"<th>{escape(name)}" for name in names]
    parts.append("</thead><tbody>")
    for name in operations:
        parts.append(f"<tr><td>{escape(name)}")
        for report in reports:
            results = [e["result"] for e in report["checks"] if name in e["operations"]]
            shown = [
                f'<span class="{key.split()[-1]}">{mark} {results.count(key)}</span>'
                for key, mark in _MARKS.items()
                if results.count(key)
            ]
            parts.append("<td>" + " ".join(shown))
    parts.append("</tbody></table></div>")
    return parts


def _matrix(reports: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    parts = ["<h2>Checks</h2><div class=wide><table id=matrix><thead><tr><th>Check<th>Requirement"]
    parts += [f"<th>{escape(name)}" for name in names]
    parts.append("</thead><tbody>")
    found: dict[str, list[Mapping[str, Any] | None]] = {}
    for number, report in enumerate(reports):
        for entry in report["checks"]:
            row = found.setdefault(entry["id"], [None] * len(reports))
            row[number] = entry
    for id, row in found.items():
        some = next(entry for entry in row if entry is not None)
        results = {entry["result"] for entry in row if entry is not None}
        kind = "fail" if "fail" in results else "pass" if "pass" in results else "skip"
        parts.append(
            f'<tr class=r-{kind}><td class=id title="{escape(some["source"])}">{id}'
            f"<td>{escape(some['requirement'])} <small>{some['level']}</small>"
        )
        for number, entry in enumerate(row):
            if entry is None:
                parts.append("<td>")
                continue
            result = entry["result"]
            text = f"{_MARKS[result]} {result}"
            if result == "fail":
                text = f'<a class=fail href="#t{number}-{id}">{text}</a>'
            tip = escape(entry["got"][:200])
            parts.append(f'<td class="{result.split()[-1]}" title="{tip}">{text}')
    parts.append("</tbody></table></div>")
    return parts


def _failures(reports: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    parts = ["<h2>Failures</h2>"]
    for number, report in enumerate(reports):
        for entry in report["checks"]:
            if entry["result"] != "fail":
                continue
            script = entry["script"] or {}
            parts.append(
                f'<details class=r-fail id="t{number}-{entry["id"]}"><summary><b>{entry["id"]}</b> '
                f"{escape(entry['requirement'])} <small>{escape(names[number])}</small></summary>"
                f"<p>Source: {escape(entry['source'])}. {entry['level']}.</p>"
                f"<p>Expected: {escape(entry['expected'])}</p><p>Actual: {escape(entry['got'])}</p>"
            )
            for heading, text in (
                ("Request", entry["request"]),
                ("Response", entry["response"]),
                ("curl", script.get("curl")),
                ("Python", script.get("python")),
            ):
                if text:
                    parts.append(f"<p>{heading}</p><pre>{escape(_shown(text))}</pre>")
            parts.append("</details>")
    if len(parts) == 1:
        parts.append("<p>None.</p>")
    return parts


def _shown(text: str) -> str:
    """Return a text with its longest words shortened, such as a body of megabytes in a script."""
    return re.sub(
        rf"(\S{{{_WORD}}})(\S+)",
        lambda found: f"{found[1]} [{len(found[2]):,} more characters in the JSON report] ",
        text,
    )


def badge(report: Mapping[str, Any]) -> str:
    """Return a badge as SVG."""
    counts = report["summary"]
    failed, passed = counts["fail"], counts["pass"]
    text = f"{failed} of {passed + failed} failed" if failed else f"{passed} passed"
    color = "#b3261e" if failed else "#1a7f37"
    left, right = 118, 14 + 7 * len(text)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="Lance namespace: {text}"><title>Lance namespace: {text}</title>'
        f'<rect width="{left}" height="20" fill="#444c56"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{color}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="8" y="14">Lance namespace</text><text x="{left + 7}" y="14">{text}</text></g></svg>\n'
    )
