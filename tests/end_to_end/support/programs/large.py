"""One block of 64 MiB, from a known line of a known function."""


def hold(size):
    return bytes(size)


class Keeper:
    def keep(self):
        self.block = hold(64 << 20)


Keeper().keep()
