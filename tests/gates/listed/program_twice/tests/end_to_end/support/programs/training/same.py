"""Purpose: shares its name with another program."""
