"""How fast the stones turn for a given level of the pond."""

from code.gears import turns_of_the_stone

FULL = 6.0


def turns_of_the_wheel(level: float) -> float:
    """Turns a minute of the wheel; below a third of the pond it stands still."""
    return 0.0 if level < 1 / 3 else FULL * level


def speed(level: float) -> float:
    """Turns a minute of the runner stone."""
    return turns_of_the_stone(turns_of_the_wheel(level))
