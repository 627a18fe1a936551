// Purpose: a planted fault: a victim with the name of another one.
int main(void) {
  return 0;
}
