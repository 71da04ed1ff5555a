"""Those to whom claims belong, as people speak of them."""


def spoken(owner: str) -> str:
    """The process and its host; of a name that is none of ours all of it."""
    machine, *process = owner.rsplit(":", 3)
    return f"process {process[0]} on {machine.partition('/')[0]}" if len(process) == 3 else owner
