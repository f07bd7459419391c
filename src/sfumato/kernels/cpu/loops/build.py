"""Build the libraries of loops that the package ships: `python -m sfumato.kernels.cpu.loops.build`.

Needs gcc and binutils on Linux on x86-64, with any CPU that numba runs on.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_CALLERS = ("backend", "products", "running")
# What numba compiles for, by library.
_TARGETS = {
    "x86-64-v4-vnni.so": {"NUMBA_CPU_NAME": "x86-64-v4", "NUMBA_CPU_FEATURES": "+avx512vnni,+amx-tile,+amx-int8"},
    "x86-64-v3-vnni.so": {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avxvnni"},
    "x86-64-v3.so": {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""},
}
# What the loops use beyond what a library needs, where the CPU has it.
_OPTIONAL = {"x86-64-v4-vnni.so": frozenset({"amx_int8", "amx_tile"})}


def build(path: Path) -> None:
    """Compile all loops and link them, in a process whose environment has the path's target.

    Raises:
        CalledProcessError: if gcc or objcopy fails.
    """
    from sfumato.kernels.cpu import running
    from sfumato.kernels.cpu.loops import sizes

    target = running.LIBRARIES[path.name] | _OPTIONAL.get(path.name, frozenset())
    setattr(sizes, "features", lambda: target)  # noqa: B010
    from sfumato.kernels.cpu.loops.compiling import compiled

    with tempfile.TemporaryDirectory() as directory:
        objects, names = list[Path](), list[str]()
        for caller in _CALLERS:
            module = importlib.import_module(f"sfumato.kernels.cpu.{caller}")
            for loop in vars(module).values():
                if isinstance(loop, running.Loop):
                    made = compiled(loop.function())
                    objects.append(Path(directory) / f"{loop.name}.o")
                    objects[-1].write_bytes(_object_of(str(made._library._final_module), path.name))
                    names.append(loop.symbol)
                    renamed = f"{made._wrapper_name}={loop.symbol}"
                    _run("objcopy", "--redefine-sym", renamed, f"--keep-global-symbol={loop.symbol}", objects[-1])
        runtime = Path(__file__).with_name("runtime.c")
        whole = Path(directory) / path.name
        shown = Path(directory) / "names"
        shown.write_text(f"{{ global: {'; '.join(names)}; local: *; }};\n", encoding="utf-8")
        options = ("-shared", "-fPIC", "-O2", "-s", f"-Wl,--no-undefined,-z,text,--version-script={shown}")
        _run("gcc", *options, "-o", whole, runtime, *objects, "-lm")
        content = whole.read_bytes()
        path.write_bytes(content + running.seal(content))


def _object_of(instructions: str, library: str) -> bytes:
    """Position-independent machine code for LLVM instructions."""
    from llvmlite import binding

    cpu, features = (_TARGETS[library][f"NUMBA_CPU_{name}"] for name in ("NAME", "FEATURES"))
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small")
    return bytes(machine.emit_object(binding.parse_assembly(instructions)))


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    from sfumato.kernels.cpu.running import LOOPS

    if len(sys.argv) > 1:
        build(LOOPS / sys.argv[1])
    for name in _TARGETS if len(sys.argv) == 1 else ():
        # numba reads these on import. A separate cache keeps the results away from programs that compile for this CPU.
        with tempfile.TemporaryDirectory() as kept:
            there = os.environ | _TARGETS[name] | {"NUMBA_CACHE_DIR": kept, "SFUMATO_COMPILE_LOOPS": "1"}
            subprocess.run([sys.executable, "-m", __spec__.name, name], env=there, check=True)
