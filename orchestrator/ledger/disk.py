"""The few calls by which the ledger changes a disk: one place for a test to break each of them.

Reading needs none of it.
"""

import os
from pathlib import Path

# The size of a file is synchronised with its data; times of change are not needed.
_sync = getattr(os, "fdatasync", os.fsync)


class Disk:
    def create(self, path: Path) -> int:
        """A new file to append to."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o666)

    def reopen(self, path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def write(self, file: int, data: memoryview) -> int:
        return os.write(file, data)

    def sync(self, file: int) -> None:
        _sync(file)

    def truncate(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def close(self, file: int) -> None:
        os.close(file)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def write_all(self, file: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self.write(file, left) :]


DISK = Disk()
