"""solve_path: the same input gives the same bytes, whatever the process has been told about threads."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
import pqp

random = np.random.default_rng(5)
X, y = random.normal(size=(120, 400)), random.normal(size=120)
path = pqp.solve_path(pqp.catalog.lasso(X, y), (1e-3, 50), n_jobs=int(sys.argv[1]))
print(len(path.segments), hashlib.sha256(np.array(path.breakpoints).tobytes()).hexdigest())
"""


def answer(threads, hash_seed, jobs=1):
    """What a process of its own prints with so many threads for BLAS."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    settings = {**os.environ, **dict.fromkeys(names, str(threads)), "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", SCRIPT, str(jobs)]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def alone():
    return answer(1, 0)


def test_path_does_not_depend_on_the_threads_of_blas(alone):
    pieces, _ = alone.split()
    assert int(pieces) > 50
    assert answer(4, 1) == alone


def test_path_does_not_depend_on_the_threads_of_blas_in_processes():
    assert answer(1, 0, jobs=2) == answer(4, 1, jobs=2)
