from click.testing import CliRunner

from minirag.evaluation.storage_bench import main


def test_the_quick_mode_measures_every_promise() -> None:
    done = CliRunner().invoke(main, ["--quick"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "adding 10 documents to 200, against adding them to 20",
        "adding 10 documents to 200, against adding them to 20",
        "opening 5 MB, against opening 1 MB",
        "one commit, against encoding it",
    ]
    assert "bytes written" in lines[0]
    assert "(at most 1.1: holds)" in lines[0]
