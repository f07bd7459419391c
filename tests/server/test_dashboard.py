"""The dashboard uses only metrics that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

from serving import Served

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana" / "sfumato.json"


def test_dashboard_metrics_exist(served: Served):
    assert served.chat().status_code == 200
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in _names(target["expr"])}
    assert len(asked) > 8
    assert asked <= _names(served.http.get("/metrics").text)


def _names(text: str) -> set[str]:
    return set(re.findall(r"sfumato_[a-z_]+", text))
