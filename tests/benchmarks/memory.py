"""Memory: a workload in a process of its own, so that the peak is that of the workload.

`python -m tests.benchmarks.memory MODULE FUNCTION ARGUMENTS` calls FUNCTION(*ARGUMENTS), which returns a
dictionary of numbers, and prints it as JSON with the peak in MB added unless the function noted it itself.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def in_a_process(function: Any, *arguments: Any) -> dict[str, Any]:
    """Return what the function returns in a fresh process with one BLAS thread, and its peak in MB."""
    command = [sys.executable, "-m", __name__, function.__module__, function.__name__, json.dumps(arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def peak_megabytes() -> float:
    """Return the peak resident size of this process.

    VmHWM starts afresh at exec; ru_maxrss would count the peak of the process that started this one.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _main(module: str, function: str, arguments: str) -> None:
    numbers = getattr(import_module(module), function)(*json.loads(arguments))
    print(json.dumps({"peak": peak_megabytes(), **numbers}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
