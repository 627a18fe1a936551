# Purpose: a planted fault for the gate "annotations". expect: Incompatible return value type
def size() -> int:
    return "large"
