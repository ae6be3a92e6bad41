// A switch over eight operations and the rest, a different one for each thread.
extern "C" __global__ void calculator(const int *operation, const int *a, const int *b, int *result) {
    int i = threadIdx.x;
    int x = a[i], y = b[i], value;
    switch (operation[i]) {
    case 0: value = x + y; break;
    case 1: value = x - y; break;
    case 2: value = x * y; break;
    case 3: value = x & y; break;
    case 4: value = x | y; break;
    case 5: value = x ^ y; break;
    case 6: value = x << (y & 31); break;
    case 7:
        while (y != 0) {  // greatest common divisor
            int rest = x;
            while (rest >= y) {
                rest -= y;
            }
            x = y;
            y = rest;
        }
        value = x;
        break;
    default: value = -1;
    }
    result[i] = value;
}
