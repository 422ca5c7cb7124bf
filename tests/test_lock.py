import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from minirag.errors import IndexLockedError, IndexWriteError
from minirag.storage.lock import writer_lock

HOLD = (
    "import pathlib, sys, time; from minirag.storage.lock import writer_lock\n"
    "with writer_lock(pathlib.Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


def hold_elsewhere(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: "subprocess.Popen[str]") -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    child.wait()
    child.stdout.close()


def test_another_process_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    child = hold_elsewhere(path)
    started = time.monotonic()
    with pytest.raises(IndexLockedError, match=f"process {child.pid} is writing it") as caught, writer_lock(path):
        pass
    assert time.monotonic() - started < 5
    assert caught.value.holder == child.pid
    end(child)
    with writer_lock(path):
        assert (tmp_path / "notes.usearch.lock").read_text() == str(os.getpid())


def test_a_dead_process_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    child = hold_elsewhere(path)
    child.kill()
    end(child)
    assert (tmp_path / "notes.usearch.lock").read_text() == str(child.pid)
    with writer_lock(path):
        pass


def test_another_thread_is_kept_out_too(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    outcomes: list[object] = []

    def try_it() -> None:
        try:
            with writer_lock(path):
                outcomes.append("held")
        except IndexLockedError as error:
            outcomes.append(error.holder)

    with writer_lock(path):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        with pytest.raises(IndexLockedError, match="is writing it"), writer_lock(path):
            pass
    try_it()
    assert outcomes == [os.getpid(), "held"]


def test_it_is_released_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with pytest.raises(ZeroDivisionError, match="division"), writer_lock(path):
        _ = 1 / 0
    with writer_lock(path):
        pass


def test_a_vanished_folder_stays_vanished(tmp_path: Path) -> None:
    with (
        pytest.raises(IndexWriteError, match=r"its folder .* is gone"),
        writer_lock(tmp_path / "gone" / "notes.usearch"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder there in which nobody can write")
def test_a_place_where_nobody_can_write_is_not_told_as_a_writer() -> None:
    with (
        pytest.raises(IndexWriteError, match=r"notes\.usearch: its folder /proc cannot be written: "),
        writer_lock(Path("/proc/notes.usearch")),
    ):
        pass


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork there")
def test_a_forked_child_does_not_inherit_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    gone_in, gone_out = os.pipe()
    with writer_lock(path):
        child = os.fork()
        if child == 0:
            try:
                with writer_lock(path):
                    os._exit(1)
            except IndexLockedError:
                os.write(gone_out, b"x")
                time.sleep(30)
            os._exit(0)
        assert os.read(gone_in, 1) == b"x"
    with writer_lock(path):  # although the child lives
        pass
    os.kill(child, 9)
    assert os.waitpid(child, 0)[1] == 9
    os.close(gone_in)
    os.close(gone_out)


def test_where_no_index_came_about_no_lock_is_left(tmp_path: Path) -> None:
    path = tmp_path / "notes.usearch"
    with writer_lock(path):
        assert [each.name for each in tmp_path.iterdir()] == ["notes.usearch.lock"]
    assert list(tmp_path.iterdir()) == []
    with writer_lock(path):
        path.write_text("made")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.usearch", "notes.usearch.lock"]


def test_who_had_opened_a_lock_that_went_does_not_hold_it(tmp_path: Path) -> None:
    """A lock's file that is taken away takes nobody in: of many who try at once, one at a time has it."""
    path, inside, most = tmp_path / "notes.usearch", [], []

    def try_often() -> None:
        for _ in range(200):
            try:
                with writer_lock(path):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
            except IndexLockedError:
                continue

    threads = [threading.Thread(target=try_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
