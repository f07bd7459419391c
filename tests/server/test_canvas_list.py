"""Lists of canvases, page by page."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from pathlib import Path

from serving import EXPRESSION, start
from sfumato.client import Client
from sfumato.server.access import Access, add_key

serving = contextmanager(start)


def test_canvases_are_listed_newest_first(tmp_path: Path):
    with serving(tmp_path) as served:
        made = [served.ask("/v1/canvas", prompt=EXPRESSION, seed=seed).json() for seed in range(5)]
        # Two at the same moment.
        with sqlite3.connect(tmp_path / "canvases.db") as database:
            database.execute("UPDATE canvases SET created = 5 WHERE id IN (?, ?)", (made[1]["id"], made[2]["id"]))
        whole = served.http.get("/v1/canvas").json()
        assert whole["has_more"] is False
        assert [each["id"] for each in whole["data"][:3]] == [made[4]["id"], made[3]["id"], made[0]["id"]]
        assert whole["data"][0] == made[4]
        pages, after = [], {}
        while not pages or pages[-1]["has_more"]:
            pages.append(served.http.get("/v1/canvas", params={"limit": 2} | after).json())
            after = {"after": pages[-1]["data"][-1]["id"]}
        assert [len(page["data"]) for page in pages] == [2, 2, 1]
        assert [each["id"] for page in pages for each in page["data"]] == [each["id"] for each in whole["data"]]
        with Client(served.url) as client:
            listed = client.list_canvases(limit=3)
            rest = client.list_canvases(after=listed[-1].id)
            assert [canvas.text for canvas in (*listed, *rest)] == [each["text"] for each in whole["data"]]
            listed[0].delete()
            assert client.list_canvases(limit=1)[0].id == made[3]["id"]
        for query in ({"limit": 0}, {"limit": 101}, {"page": 2}):
            assert served.http.get("/v1/canvas", params=query).status_code == 400
        assert served.http.get("/v1/canvas", params={"after": "canvas_none"}).status_code == 404


def test_a_list_holds_the_canvases_of_one_key(tmp_path: Path):
    keys = {name: add_key(tmp_path / "keys.toml", name, {}) for name in ("anna", "ben")}
    with serving(tmp_path, keys=Access(path=tmp_path / "keys.toml").keys) as served:

        def listed(name: str, **query: str) -> list[str]:
            headers = {"Authorization": f"Bearer {keys[name]}"}
            answer = served.http.get("/v1/canvas", params=query, headers=headers)
            return [each["id"] for each in answer.json().get("data", [])] if answer.status_code == 200 else ["none"]

        headers = {"Authorization": f"Bearer {keys['anna']}"}
        body = {"prompt": EXPRESSION}
        own = served.http.post("/v1/canvas", json=body, headers=headers).json()["id"]
        assert listed("anna") == [own]
        assert listed("ben") == []
        assert listed("ben", after=own) == ["none"]
