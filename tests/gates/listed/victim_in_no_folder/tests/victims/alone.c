// Purpose: a planted fault: a victim that CMake does not find.
int main(void) {
  return 0;
}
