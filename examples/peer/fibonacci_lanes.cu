// The Fibonacci numbers F(0) to F(n) by four threads: each begins at a number of its own and goes on four at a time.
extern "C" __global__ void fibonacci_lanes(int n, unsigned *numbers) {
    int t = threadIdx.x;
    unsigned a = (t + 1) >> 1;   // F(t) for t < 4
    unsigned b = a + (t != 1);   // F(t + 1)
    for (int m = t; m <= n; m += 4) {
        numbers[m] = a;
        unsigned c = a + b, d = b + c;
        a = c + d;
        b = d + a;
    }
}
