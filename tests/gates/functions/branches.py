# Purpose: a function of too many decisions. A planted fault.
def too_many(x):
    if x == 0:
        return 0
    if x == 1:
        return 1
    if x == 2:
        return 4
    if x == 3:
        return 9
    if x == 4:
        return 16
    if x == 5:
        return 25
    if x == 6:
        return 36
    if x == 7:
        return 49
    if x == 8:
        return 64
    if x == 9:
        return 81
    if x == 10:
        return 100
    if x == 11:
        return 121
    if x == 12:
        return 144
    if x == 13:
        return 169
    if x == 14:
        return 196
    if x == 15:
        return 225
    if x == 16:
        return 256
    if x == 17:
        return 289
    if x == 18:
        return 324
    if x == 19:
        return 361
    return x
