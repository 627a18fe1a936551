// Purpose: a planted fault: a folder that the table does not have.
