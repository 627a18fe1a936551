// Purpose: a library that victim_moved loads.
int PART(void);
int PART(void) {
  return 7;
}
