// Fibonacci numbers from fib(0) = 0; 0 below. Status 1: above fib(46), which is the last one of 32 bits.
extern "C" __global__ void fib_kernel(const int *a, int *out, int *status) {
    int i = threadIdx.x;
    int x = a[i];
    int before = 1, number = 0;
    if (x > 46) *status = 1;
#pragma unroll 1
    for (int k = x > 46 ? 0 : x; k > 0; --k) {
        int next = before + number;
        before = number;
        number = next;
    }
    out[i] = number;
}
