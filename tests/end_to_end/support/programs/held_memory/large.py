"""Allocates one block of 64 MiB, at a known line of a known function."""


def hold(size):
    return bytes(size)


class Keeper:
    def keep(self):
        self.block = hold(64 << 20)


Keeper().keep()
