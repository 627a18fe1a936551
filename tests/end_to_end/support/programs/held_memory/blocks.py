"""In each round allocates 20,000 blocks, prints a line and waits for a line. Ends with a status that is not 0.
"""
import sys

for number in range(int(sys.argv[1])):
    for _ in range(20_000):
        bytearray(10_000)
    print("round", number, flush=True)
    sys.stdin.readline()
sys.stderr.write("to stderr\n")
sys.exit(7)
