"""Every script on the page reproduces its deviation on the installed pylance."""

from __future__ import annotations

import httpx
import pytest

from tests.servers.pylance import pylance_server

from .verified import PAGE, VERIFIED, Deviation, page


@pytest.mark.parametrize("row", VERIFIED, ids=lambda row: row.name)
def test_the_script_reproduces_the_deviation(row: Deviation, tmp_path):
    with pylance_server(tmp_path, {}) as uri, httpx.Client(base_url=uri, timeout=60) as client:
        *before, last = row.script
        for send in before:
            answer = send.to(client)
            assert answer.is_success, answer.text
        answer = last.to(client)
    assert row.found(answer), f"{answer.status_code} {answer.content[:300]!r}"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
