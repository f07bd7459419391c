"""Runs a project's tests on edited copies: without network, within limits, never in the user's tree."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.errors import RequestError

IGNORED = (
    ".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".tox", "*.pyc",
)  # fmt: skip
MAX_PROJECT_BYTES = 500_000_000
_PYTEST = re.compile(r"^=* ?(\d+ \w+(?:, \d+ \w+)*) in [\d.]+s", re.MULTILINE)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\s+FAILED \((.*)\)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run."""

    seconds: float = 60.0
    """Wall-clock time."""
    memory_bytes: int = 4 << 30
    """Address space per process."""
    processes: int = 256
    """Processes and threads, beyond those already running."""
    file_bytes: int = 256 << 20
    """Maximum size of a written file."""
    output_bytes: int = 1 << 20
    """Kept size of the output, from its end."""


@dataclass(frozen=True)
class Outcome:
    """Result of a run."""

    status: int | None
    """Exit status; None on timeout."""
    output: str
    """End of what it wrote to stdout and stderr."""
    seconds: float

    @property
    def passed(self) -> bool:
        return self.status == 0

    @property
    def num_passed(self) -> int:
        """Tests that passed, as the output of pytest or unittest ends; 0 without such an end."""
        if found := _PYTEST.findall(self.output):
            return sum(map(int, re.findall(r"(\d+) passed", found[-1])))
        if found := _UNITTEST.findall(self.output):
            total, others = found[-1]
            return int(total) - sum(map(int, re.findall(r"\d+", others)))
        return 0


class Sandbox:
    """A copy of a project in which commands run.

    Args:
        project: its root; copied without version control, environments and caches.

    Raises:
        RequestError: if the project is too large to copy.
    """

    def __init__(self, project: Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        # When the last run ends at the latest, by time.monotonic.
        self.ends_at = math.inf
        self._project = project
        self._home = Path(tempfile.mkdtemp(prefix="sfumato-mend-"))
        self.root = self._home / "project"
        try:
            size = 0
            for folder, folders, names in os.walk(project):
                left_out = _left_out(folder, [*folders, *names])
                folders[:] = [name for name in folders if name not in left_out]
                size += sum(os.lstat(os.path.join(folder, name)).st_size for name in {*names} - left_out)
                if size > MAX_PROJECT_BYTES:
                    raise RequestError(
                        f"{project} holds more than {MAX_PROJECT_BYTES / 1e6:.0f} MB, too much to copy for every "
                        "search; give the root of a smaller project"
                    )
            shutil.copytree(project, self._home / "clean", symlinks=True, ignore=_left_out)
            shutil.copytree(self._home / "clean", self.root, symlinks=True)
        except BaseException:
            self.close()
            raise

    def run(
        self,
        command: Sequence[str],
        changes: Mapping[Path, bytes] | None = None,
        *,
        variables: Mapping[str, str] | None = None,
        first_on_path: Sequence[Path] = (),
    ) -> Outcome:
        """Run a command in the copy with some files changed, then restore the copy.

        Args:
            command: program and arguments.
            changes: contents by path relative to the root.
            first_on_path: directories first on Python's path, before the copy and its `src`, because packages installed
                in place would otherwise be imported from the project itself.
        """
        self._restore()
        for path, content in (changes or {}).items():
            (self.root / path).write_bytes(content)
        package_dirs = [folder for folder in (self.root / "src", self.root) if folder.is_dir()]
        project = self._project.resolve()
        entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        given = [
            str(self.root / Path(entry).relative_to(project)) if Path(entry).is_relative_to(project) else entry
            for entry in entries
        ]
        search_path = os.pathsep.join(dict.fromkeys([*map(str, first_on_path), *map(str, package_dirs), *given]))
        seconds = max(0.0, min(self.limits.seconds, self.ends_at - time.monotonic()))
        return run_limited(
            command,
            self.root,
            self._home,
            replace(self.limits, seconds=seconds),
            {"PYTHONPATH": search_path, **(variables or {})},
        )

    def scratch(self, name: str) -> Path:
        """Create a directory outside the copy that commands may write to."""
        folder = self._home / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _restore(self) -> None:
        clean = self._home / "clean"
        wanted, found = _listing(clean), _listing(self.root)
        for path in sorted(found, reverse=True):
            if path in wanted and stat.S_IFMT(found[path][0]) == stat.S_IFMT(wanted[path][0]):
                continue
            target = self.root / path
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target, ignore_errors=True)
            else:
                target.unlink(missing_ok=True)
        for path in sorted(wanted):
            if found.get(path) != wanted[path]:
                source, target = clean / path, self.root / path
                if source.is_dir() and not source.is_symlink():
                    target.mkdir(exist_ok=True)
                else:
                    # Never through a link that a test has made.
                    target.unlink(missing_ok=True)
                    shutil.copy2(source, target, follow_symlinks=False)

    def close(self) -> None:
        """Delete the copy."""
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Names in a folder that are not copied: what is ignored, and pipes, sockets and devices."""
    paths = {name: Path(folder, name) for name in names}
    special = {name for name, path in paths.items() if not (path.is_symlink() or path.is_dir() or path.is_file())}
    return special | shutil.ignore_patterns(*IGNORED)(folder, names)


def run_limited(
    command: Sequence[str], root: Path, writable: Path, limits: Limits, variables: Mapping[str, str] | None = None
) -> Outcome:
    """Run a command without network and within limits.

    Args:
        command: program and arguments.
        writable: the one directory that may be written to, with bubblewrap; contains root.
    """
    scratch = writable / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH")
    }
    environment |= {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        **(variables or {}),
    }
    # Bubblewrap would report it in the command's output.
    given = command[0] if os.sep not in command[0] else root / command[0]
    program = shutil.which(given, path=environment.get("PATH"))
    if program is None:
        shell = "; allowed: one program, such as sh -c 'cd tests && pytest'" if "&&" in command else ""
        raise RequestError(f"cannot run {command[0]}: program not found{shell}")
    inside = _bubblewrap(writable, program)
    wrapped = [*(inside or (_AS_CHILD if sys.platform == "linux" else ())), *command]
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                wrapped,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=functools.partial(_confine, limits, None if inside else writable),
            )
        except OSError as error:
            raise RequestError(f"cannot run {command[0]}: {error.strerror}") from None
        try:
            status = _watch(process, limits)
        finally:
            # Also ends what the command started.
            _kill_group(process)
            process.wait()
        end = output.seek(0, os.SEEK_END)
        output.seek(max(0, end - limits.output_bytes))
        text = output.read().decode("utf-8", "replace")
    return Outcome(status, text, time.monotonic() - started)


_READ_ONLY = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")


@functools.cache
def _bubblewrap_works(program: str) -> bool:
    check = [program, *_READ_ONLY, "--unshare-net", "--unshare-pid", "true"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def _bubblewrap(writable: Path, command: str) -> list[str]:
    """The bubblewrap command line for a program; [] if bubblewrap is missing or not permitted."""
    program = shutil.which("bwrap")
    if program is None or not _bubblewrap_works(program):
        return []
    apart = ("--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session")
    # A new /tmp would hide an environment within it.
    temporary = () if Path(command).is_relative_to("/tmp") else ("--tmpfs", "/tmp")
    return [program, *_READ_ONLY, *temporary, "--bind", str(writable), str(writable), *apart]


# The inner shell is process 1 of its namespace, so all processes end with it. It runs at high priority, to be able to,
# and the command at normal priority.
_AS_CHILD = (
    "sh",
    "-c",
    'sh -c "$0" sh "$@"; exit $?',
    '$(command -v chrt >/dev/null && echo chrt --other 0) "$@"; exit $?',
)
_CLONE_NEWNET, _CLONE_NEWUSER, _CLONE_NEWPID = 0x40000000, 0x10000000, 0x20000000
_POLL_S = 0.005


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> int | None:
    """A process's exit status; None on timeout or with too many processes."""
    end, before = time.monotonic() + limits.seconds, _num_processes()
    with _at_once():
        while time.monotonic() < end and _num_processes() <= before + limits.processes:
            try:
                return process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                continue
        # A fork bomb must be ended before any other process gets a turn.
        _kill_group(process)
    return None


@contextlib.contextmanager
def _at_once() -> Iterator[None]:
    """Give this thread real-time priority if permitted: among thousands of processes its turn would come too late.
    Without it, the kernel limits the number of processes."""
    if sys.platform != "linux":
        yield
        return
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameter)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


# Since this version, a user's processes are counted per user namespace.
_COUNTED_APART = (5, 14)


def _release() -> tuple[int, ...]:
    return tuple(int(part) for part in os.uname().release.split(".")[:2] if part.isdecimal())


def _num_processes() -> int:
    """Number of processes on the whole machine, because processes may leave their group or parent; 0 if unknown."""
    try:
        return sum(name.isdigit() for name in os.listdir("/proc"))
    except OSError:
        return 0


def _confine(limits: Limits, writable: Path | None) -> None:
    """In the child, before it runs: set its limits and, without bubblewrap, remove network access, isolate process
    numbers and restrict writing to one directory, as far as the kernel can."""
    if writable is not None and sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if libc.unshare(_CLONE_NEWNET | _CLONE_NEWPID) != 0:
            apart = libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWPID) == 0
            if apart and _release() >= _COUNTED_APART:
                resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        write_only_below(writable, Path("/dev/null"))
    cpu = int(limits.seconds) + 1
    for kind, value in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


# Linux Landlock: numbers from the kernel's headers (userspace-api/landlock).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
# Write, remove and create operations of all kinds, then those added by later versions.
_RIGHTS = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_ADDED = {2: 1 << 13, 3: _TRUNCATE}
_SCOPED_FROM, _SCOPES = 6, 0b11
"""Signals and abstract sockets are confined to restricted processes."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_fs", ctypes.c_uint64), ("handled_net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Below(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32)]


def write_only_below(*paths: Path) -> bool:
    """Permanently give up writing elsewhere, for this process and its children.

    Args:
        paths: directories with full access, or files that may be written.

    Returns:
        Whether the kernel supports it.
    """
    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION)
    if version < 1:
        return False
    rights = _RIGHTS + sum(right for since, right in _ADDED.items() if since <= version)
    ruleset = _Ruleset(rights, 0, _SCOPES if version >= _SCOPED_FROM else 0)
    descriptor = libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    if descriptor < 0:
        return False
    for path in paths:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed = rights if path.is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
        libc.syscall(_ADD_RULE, descriptor, _PATH_BENEATH, ctypes.byref(_Below(allowed, target)), 0)
        os.close(target)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return int(libc.syscall(_RESTRICT_SELF, descriptor, 0)) == 0


def _listing(root: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, size and time of everything below a directory."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            entry = os.lstat(path)
            size_and_time = (0, 0) if stat.S_ISDIR(entry.st_mode) else (entry.st_size, entry.st_mtime_ns)
            found[os.path.relpath(path, root)] = (entry.st_mode, *size_and_time)
    return found
