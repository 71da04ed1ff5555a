"""The gears between the wheel and the stones."""

PIT_WHEEL, WALLOWER, SPUR, STONE_NUT = 60, 12, 63, 21


class Gear:
    """Two wheels whose teeth meet."""

    def __init__(self, driver: int, driven: int) -> None:
        self.driver = driver
        self.driven = driven

    def ratio(self) -> float:
        return self.driver / self.driven


def turns_of_the_stone(turns: float) -> float:
    """What the stone makes of the turns of the wheel."""
    return turns * Gear(PIT_WHEEL, WALLOWER).ratio() * Gear(SPUR, STONE_NUT).ratio()
