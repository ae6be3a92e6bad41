// Greatest common divisors of positive numbers by subtraction: each lane needs its own number of steps.
extern "C" __global__ void gcd(const unsigned *a, const unsigned *b, unsigned *out) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    while (x != y) {
        if (x > y) {
            x -= y;
        } else {
            y -= x;
        }
    }
    out[i] = x;
}
