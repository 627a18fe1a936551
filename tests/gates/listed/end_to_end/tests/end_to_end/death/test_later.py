"""Purpose: a planted fault: a test that ctest does not know."""
