// Purpose: a small ELF object with global, local and indirect functions, as first input of the fuzz target
// `elf`.
int value;
static int hidden(int x) {
  return x * 3 + value;
}
int _Z3addii(int a, int b) {
  return hidden(a) + b;
}
static int one(void) {
  return 1;
}
static void* pick(void) {
  return one;
}
int chosen(void) __attribute__((ifunc("pick")));
