"""A stand-in for the W&B server: as much of its GraphQL and file stream as a run needs."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """A server that remembers its requests; once deaf, it accepts requests and never answers."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.deaf, self.closing = False, threading.Event()
        self.runs: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.exits: list[int] = []
        self.files: set[str] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        if self.server.deaf:
            self.server.closing.wait()
        elif self.path == "/graphql":
            self.reply(self.answer(request.get("operationName") or "", request.get("variables", {})))
        else:
            if self.path.endswith("/file_stream"):
                lines = request.get("files", {}).get("wandb-history.jsonl", {}).get("content", [])
                self.server.history += map(json.loads, lines)
                self.server.exits += [request["exitcode"]] if request.get("complete") else []
            self.reply({})

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.files.add(self.path)
        self.reply({})

    def answer(self, operation: str, variables: dict[str, Any]) -> dict[str, Any]:
        if operation == "RunResumeStatus":
            return {"data": {"model": None}}
        if operation == "UpsertBucket":
            self.server.runs.append(variables)
            project = {"id": "1", "name": variables["project"], "entity": {"id": "1", "name": "someone"}}
            bucket = {"id": "1", "name": variables["name"], "historyLineCount": 0, "project": project}
            return {"data": {"upsertBucket": {"bucket": bucket, "inserted": True}}}
        if operation == "Viewer":
            return {"data": {"viewer": {"id": "1", "entity": "someone", "username": "me", "flags": "{}"}}}
        if operation == "CreateRunFiles":
            files = [{"name": file, "uploadUrl": f"{self.server.url}/{file}"} for file in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": files}}}
        if operation == "CreateArtifact":
            artifact = {"id": "1", "state": "COMMITTED", "artifactSequence": {"latestArtifact": None}}
            return {"data": {"createArtifact": {"artifact": artifact}}}
        return {"errors": [{"message": f"{operation} is not known here"}]}

    def reply(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def served() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
