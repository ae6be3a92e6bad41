// The Fibonacci numbers F(0) to F(n): one thread.
extern "C" __global__ void fibonacci(int n, unsigned *numbers) {
    unsigned a = 0, b = 1;
    for (int i = 0; i <= n; i++) {
        numbers[i] = a;
        unsigned next = a + b;
        a = b;
        b = next;
    }
}
