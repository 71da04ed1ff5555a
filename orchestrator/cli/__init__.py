"""The command line: each command parses, calls and prints. Heavy modules are imported when a command needs them."""


def main(arguments: list[str] | None = None) -> None:
    """Run one command; raises SystemExit with its exit code, unless that is 0."""
    from orchestrator.cli.entry import main as run

    run(arguments)
