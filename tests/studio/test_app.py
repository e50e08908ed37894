"""Every route and every limit: what the page may ask, and who may ask it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from seqline.studio import live
from seqline.studio.asked import MOST_BYTES, MOST_CHARACTERS
from seqline.studio.desk import MOST_WAITING
from seqline.visualize.export import save
from seqline.visualize.trace import Bundle, Trace

QUICK = {"model": "run", "text": "a b c", "decode": {"beam_size": 1}}


def without_clock(node: Any) -> Any:
    """Return a trace without what two recordings may differ in, and without what packing makes of it."""
    if isinstance(node, dict):
        return {key: without_clock(value) for key, value in node.items() if key not in ("created", "ms", "ms_total")}
    return [without_clock(value) for value in node] if isinstance(node, list) else node


def recorded(client: Any, **changes: Any) -> Any:
    answer = client.post("/api/trace", json=QUICK | changes)
    assert answer.status_code == 200, answer.text
    return answer


def test_the_page_holds_the_panel_and_may_ask_nobody_but_its_own_server(client: Any) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert 'id="live-text"' in answer.text
    assert "connect-src 'self'" in answer.text
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert "access-control-allow-origin" not in answer.headers
    assert '"trace": null' in answer.text
    recorded(client)
    assert '"trace": "0"' in client.get("/").text  # opened again, it shows the recording made last


def test_the_models_are_named(client: Any) -> None:
    models = client.get("/api/models").json()["models"]
    assert [model["name"] for model in models] == ["run", "again"]
    assert models[0]["arch"] == "luong"
    assert models[0]["task"] == "translation"
    assert models[0]["num_parameters"] > 0


def test_a_text_comes_back_as_a_trace_and_several_runs_as_a_bundle(client: Any) -> None:
    answer = recorded(client, lang={"source": "fr", "target": "en"})
    trace = Trace.from_json(answer.content)
    assert isinstance(trace, Trace)
    assert trace.document["target"]["text"] == "c b a"
    assert (trace.document["source"]["lang"], trace.document["target"]["lang"]) == ("fr", "en")
    assert trace.document["decode"]["mode"] == "greedy"
    both = Trace.from_json(recorded(client, model=["run", "again"]).content)
    assert isinstance(both, Bundle)
    assert both.labels == ["run", "again"]


def test_a_forced_token_changes_what_comes_from_there_on(client: Any) -> None:
    free = recorded(client).json()
    ids = [token["id"] for token in free["target"]["tokens"]]
    second = free["decoder"]["steps"][1]["topk"]
    other = next(item for item in second if item["id"] not in ids and len(item["text"]) == 1)
    held = recorded(client, force=[{"step": 2, "id": other["id"]}]).json()
    tokens = [token["id"] for token in held["target"]["tokens"]]
    assert tokens[:2] == [ids[0], other["id"]]
    assert held["decode"]["mode"] == "forced"
    one = recorded(client, model=["run", "again"], force=[{"step": 2, "id": other["id"], "model": "again"}]).json()
    assert [trace["target"]["tokens"][1]["id"] for trace in one["traces"]] == [ids[1], other["id"]]


def test_a_row_of_attention_that_is_set_stands_in_the_trace(client: Any) -> None:
    row = {"step": 1, "weights": [1.0, 0, 0, 0]}
    held = Trace.from_json(recorded(client, attention_rows=[row]).content)
    assert isinstance(held, Trace)
    assert held.document["attention"][0]["weights"][0, 0, 0].tolist() == row["weights"]
    assert held.document["target"]["text"].split()[0] == "a"


def test_an_export_has_the_bytes_of_the_command_line(client: Any, tmp_path: Any) -> None:
    answer = recorded(client)
    trace, name = Trace.from_json(answer.content), answer.headers["seqline-trace"]
    for suffix, view, state in (("svg", "align", {"t": 5}), ("png", "timeline", {}), ("csv", "align", {})):
        asked = {"trace_id": name, "view": view, "state": {**state, "font": ["x"]}, "format": suffix}
        sent = client.post("/api/export", json=asked)
        assert sent.status_code == 200, sent.text
        save(trace, tmp_path / f"x.{suffix}", view, state)
        assert sent.content == (tmp_path / f"x.{suffix}").read_bytes()
        assert sent.headers["content-disposition"] == f'attachment; filename="{view}.{suffix}"'
    whole = client.post("/api/export", json={"trace_id": name, "format": "trace"})
    assert whole.content == answer.content


def test_one_recording_of_several_is_exported_alone(client: Any) -> None:
    name = recorded(client, model=["run", "again"]).headers["seqline-trace"]
    asked = {"trace_id": name, "format": "trace", "member": 1}
    assert json.loads(client.post("/api/export", json=asked).content)["schema"] == "trace/1"
    assert client.post("/api/export", json=asked | {"member": 2}).status_code == 400


def test_fonts_follow_a_recording(client: Any) -> None:
    name = recorded(client).headers["seqline-trace"]
    fonts = client.get(f"/api/fonts/{name}").json()
    assert set(fonts) == {"css", "font", "missing"}
    assert client.get("/api/fonts/none").status_code == 404


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": "x" * (MOST_CHARACTERS + 1)}, "at most 2,000 characters"),
        ({"text": "  "}, "got a blank one"),
        ({"model": "runn"}, "did you mean 'run'?"),
        ({"model": []}, "expected 1 to 6 runs, got 0"),
        ({"beam": 3}, "beam: extra inputs"),
        ({"decode": {"beam_size": 0}}, "decode.beam_size"),
        ({"decode": {"beam_size": "3"}}, "decode.beam_size"),
        ({"force": [{"step": 0, "id": 5}]}, "force.0.step"),
        ({"force": [{"step": 1, "id": 99_999}]}, "expected an id"),
        ({"force": [{"step": 1, "id": 5, "model": "again"}]}, "not among those chosen"),
        ({"attention_rows": [{"step": 1, "weights": [1.0]}]}, "a weight for each of 4 source tokens, got 1"),
        ({"lang": {"source": "<b>"}}, "lang.source"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(client: Any, changes: dict[str, Any], said: str) -> None:
    answer = client.post("/api/trace", json=QUICK | changes)
    assert answer.status_code == 400
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_other_refusals_are_sentences_too(client: Any) -> None:
    post = client.post
    cases = [
        (post("/api/trace", content=b"{", headers={"content-type": "application/json"}), 400),
        (post("/api/trace", content=b"{}", headers={"content-type": "text/plain"}), 415),
        (post("/api/trace", json={**QUICK, "text": "x" * MOST_BYTES}), 413),
        (client.get("/api/trace"), 405),
        (client.get("/api/none"), 404),
        (post("/api/export", json={"trace_id": "none"}), 404),
        (post("/api/export", json={"trace_id": "none", "format": "exe"}), 400),
        (post("/api/export", json={"trace_id": "none", "view": "all"}), 400),
    ]
    for answer, status in cases:
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]


def test_a_long_body_without_its_length_is_cut_off(client: Any) -> None:
    chunks = (b" " * 1024 for _ in range(80))
    answer = client.post("/api/trace", content=chunks, headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 400),
        ({"host": "127.0.0.1.evil.example:8765"}, 400),
        ({"host": "192.168.0.7:8765"}, 400),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]:8765"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:8765"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_only_the_page_itself_is_answered(client: Any, headers: dict[str, str], status: int) -> None:
    answer = client.get("/api/models", headers=headers)
    assert answer.status_code == status
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_what_goes_wrong_inside_is_said_without_its_traceback(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(client.app.state.studio.runs, "record", fail)
    answer = client.post("/api/trace", json=QUICK)
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error (ZeroDivisionError)"}


def test_two_at_once_give_the_traces_of_two_after_another(client: Any) -> None:
    texts = ["a b c d", "h g f"]
    alone = [without_clock(recorded(client, text=text).json()) for text in texts]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(lambda text: recorded(client, text=text).json(), texts))
    for one, other in zip(alone, together, strict=True):
        assert one["decoder"] == without_clock(other)["decoder"]
        assert one == without_clock(other)


def test_beyond_the_waiting_line_one_is_told_when_to_come_back(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    studio, gate, begun = client.app.state.studio, threading.Event(), threading.Event()
    record = studio.runs.record

    def slow(asked: Any) -> Any:
        begun.set()
        gate.wait(60)
        return record(asked)

    monkeypatch.setattr(studio.runs, "record", slow)
    with ThreadPoolExecutor(MOST_WAITING + 1) as pool:
        waiting = [pool.submit(client.post, "/api/trace", json=QUICK) for _ in range(MOST_WAITING + 1)]
        begun.wait(60)
        while studio.desk._present <= MOST_WAITING:
            threading.Event().wait(0.01)
        refused = client.post("/api/trace", json=QUICK)
        gate.set()
        assert {future.result().status_code for future in waiting} == {200}
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "waiting already" in refused.json()["error"]
    assert recorded(client).status_code == 200


def test_every_step_of_the_schedule_is_an_event(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(client.app.state.studio.live, "tell", lambda event, data: told.append((event, data)))
    trace = recorded(client).json()
    assert [event for event, _ in told] == ["begin", *["step"] * len(trace["schedule"]), "end"]
    steps = [data for event, data in told if event == "step"]
    assert [step["t"] for step in steps] == [step["t"] for step in trace["schedule"]]
    written = [word for step in steps for word in step["written"]]
    assert written == [token["text"] or token["piece"] for token in trace["target"]["tokens"]]
    client.post("/api/trace", json=QUICK | {"force": [{"step": 1, "id": 99_999}]})
    assert told[-1][0] == "failed"


def run_alone(make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine in a thread of its own: a browser test of the same process may have left its loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()


async def dropped() -> int:
    stream = live.Live()
    for _ in range(live.MOST_PAGES + 1):
        events = stream.listen()
        assert events is not None
        await events.aclose()  # type: ignore[attr-defined]  # gone before the first line was sent
    return len(stream._pages)


def test_a_page_that_went_at_once_takes_no_place() -> None:
    assert run_alone(dropped) == 0


async def heard(stream: live.Live) -> list[str]:
    events = stream.listen()
    assert events is not None
    found = [await anext(events)]
    stream.tell("begin", {"text": "é"})
    found.append(await anext(events))
    stream.close()
    found += [text async for text in events]
    assert stream.listen() is None
    return found


def test_a_stream_ends_when_the_server_stops() -> None:
    found = run_alone(lambda: heard(live.Live()))
    assert found == ["retry: 3000\n\n", 'event: begin\ndata: {"text": "é"}\n\n']
