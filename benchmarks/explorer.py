"""Measures the time until the explorer shows a root of 10,000 tables, in headless Chromium.

The browser measures the time from the click to the first contentful paint, in a wide light and a
narrow dark window, each round with an empty cache; the result is the median of the rounds. Exit
status 1 if it exceeds a second. ``--pictures FOLDER`` saves screenshots.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from server import ours, running

BOUND_MS = 1000
WINDOWS = {"1200 light": (1200, "light"), "400 dark": (400, "dark")}
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for number in range(options.tables):
            table = Path(folder, f"table_{number:05}.lance")
            table.mkdir()
            (table / ".lance-reserved").touch()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        with running(ours(folder, 1)) as uri:
            for name, (width, scheme) in WINDOWS.items():
                times = []
                for _ in range(options.rounds):
                    context = browser.new_context(
                        viewport={"width": width, "height": 900}, color_scheme=scheme
                    )
                    page = context.new_page()
                    page.goto(f"{uri}/ui")
                    while (painted := page.evaluate(PAINT)) is None:
                        page.wait_for_timeout(10)
                    times.append(painted)
                    shown = page.locator("a", has_text="table_").count()
                    if options.pictures:
                        page.screenshot(
                            path=options.pictures / f"many-{name.replace(' ', '-')}.png"
                        )
                    context.close()
                slowest = max(slowest, median(times))
                print(
                    f"{options.tables:,} tables, {name}: first paint after {median(times):.0f} ms "
                    f"({min(times):.0f} to {max(times):.0f}), {shown} names on the page"
                )
        browser.close()
    print(f"slowest {slowest:.0f} ms (bound {BOUND_MS})")
    return int(slowest > BOUND_MS)


if __name__ == "__main__":
    sys.exit(main())
