"""A planted fault of the Python gate."""
def planted(:
    pass
