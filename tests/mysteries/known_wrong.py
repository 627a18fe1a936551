"""Purpose: the programs of the corpus whose first screen is wrong, with the reason. A test fails if one is right."""

KNOWN_WRONG = {
}
