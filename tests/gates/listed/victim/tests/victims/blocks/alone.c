// Purpose: a planted fault: a victim that no test runs.
int main(void) {
  return 0;
}
