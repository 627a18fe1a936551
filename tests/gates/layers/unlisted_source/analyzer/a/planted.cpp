// Purpose: a planted fault: a source that no build has.
