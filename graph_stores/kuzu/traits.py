"""What is known of each embedded engine, measured: how it is opened, what finding nodes costs, where it errs."""

from collections.abc import Mapping
from dataclasses import dataclass

from graph_stores.model import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is measured about an engine: see docs/benchmarks.md."""

    module: str
    options: Mapping[str, Value]
    scan_seconds_per_row: float
    """What finding a batch of keys costs for each row of the table; zero where keys are looked up one by one."""
    key_seconds: float
    key_seconds_per_column: float
    """What one prepared statement by key costs, and each column that it returns."""
    rollback_blocks_rows: bool
    """After a rollback the rows it had updated refuse every update until the database is opened again."""
    checkpoint_mixes_lists: bool
    """A checkpoint gives a list, and so a vector, to the wrong row if one that was in the file before was changed."""


TRAITS = {
    "kuzu": Traits(
        module="kuzu", options={}, scan_seconds_per_row=1e-7, key_seconds=3e-4,
        key_seconds_per_column=2.5e-5, rollback_blocks_rows=True, checkpoint_mixes_lists=True
    ),
    "ladybug": Traits(
        module="ladybug",
        # By default one torn record at the end of the log, from a commit that was never acknowledged, locks one out.
        options={"throw_on_wal_replay_failure": False},
        scan_seconds_per_row=0.0,
        key_seconds=2e-4,
        key_seconds_per_column=1e-5,
        rollback_blocks_rows=False,
        checkpoint_mixes_lists=False,
    ),
}  # fmt: skip
