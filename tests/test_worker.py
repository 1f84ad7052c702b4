"""A worker survives tasks that hang, fail or die."""

import os
import time

import pytest

from tests.worker import Worker


def counts(last):
    yield from ({"number": number} for number in range(last))


def hangs():
    yield {"number": 0}
    time.sleep(60)


def fails():
    yield {"number": 0}
    raise KeyboardInterrupt("swallowed by nobody")


def dies():
    os._exit(3)
    yield {}


@pytest.fixture
def worker():
    with Worker() as one:
        yield one


def test_stages_arrive_in_order(worker):
    assert worker.run(counts, (3,), (5, 5, 5)) == [{"number": 0}, {"number": 1}, {"number": 2}]


def test_task_that_hangs_is_killed_and_the_next_one_runs(worker):
    begin = time.monotonic()
    assert worker.run(hangs, (), (5, 0.2)) == [{"number": 0}, {"killed": 0.2}]
    assert time.monotonic() - begin < 5
    assert worker.run(counts, (1,), (5,)) == [{"number": 0}]


def test_task_that_fails_says_so_and_the_next_one_runs(worker):
    first, second = worker.run(fails, (), (5,))
    assert first == {"number": 0}
    assert "KeyboardInterrupt" in second["error"]
    assert worker.run(counts, (1,), (5,)) == [{"number": 0}]


def test_process_that_dies_says_so_and_the_next_one_runs(worker):
    assert "died" in worker.run(dies, (), (5,))[0]["error"]
    assert worker.run(counts, (1,), (5,)) == [{"number": 0}]
