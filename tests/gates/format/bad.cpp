// Purpose: a planted fault of the format gate.
int   planted( int x ){return x ;}
