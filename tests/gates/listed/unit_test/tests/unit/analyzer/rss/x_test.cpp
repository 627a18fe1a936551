// Purpose: a planted fault: a unit test that no program has.
