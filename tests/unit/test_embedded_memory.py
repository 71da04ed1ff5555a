"""When a process has grown by so much that an embedded engine should let go of what it keeps until a checkpoint."""

from dataclasses import dataclass

from graph_stores.kuzu.memory import Growth, resident


@dataclass
class Process:
    """What it takes, and how often that was looked at."""

    size: int
    looks: int = 0

    def __call__(self) -> int:
        self.looks += 1
        return self.size


def test_a_process_has_grown_too_much_only_by_more_than_it_may() -> None:
    process = Process(1000)
    growth = Growth(100, size=process)
    assert not growth.is_too_much()
    process.size = 1100
    assert not growth.is_too_much()
    process.size = 1101
    assert growth.is_too_much()


def test_it_stays_too_much_until_a_checkpoint_was_made() -> None:
    process = Process(1000)
    growth = Growth(100, size=process)
    assert not growth.is_too_much()
    process.size = 1200
    assert growth.is_too_much()
    assert growth.is_too_much()
    growth.begin()
    assert not growth.is_too_much()


def test_what_the_process_took_before_the_first_look_does_not_count() -> None:
    process = Process(1000)
    growth = Growth(100, size=process)
    process.size = 5000
    assert not growth.is_too_much()


def test_where_the_system_does_not_tell_nothing_is_ever_too_much() -> None:
    assert not any(Growth(100, size=lambda: 0).is_too_much() for _ in range(3))


def test_freed_memory_that_could_be_given_back_is_no_growth() -> None:
    sizes = iter([1000, 1000, 1150, 1050, 1160, 1161])
    growth = Growth(100, size=lambda: next(sizes))
    assert not growth.is_too_much()  # 1000, the base
    assert not growth.is_too_much()  # 1150, and 1050 once that was given back
    assert growth.is_too_much()  # 1160, and 1161 although that was given back


def test_a_process_knows_what_it_takes() -> None:
    assert resident() > 1 << 20
