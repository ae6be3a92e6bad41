// AND, OR and XOR of numbers that are known only when the kernel runs.
extern "C" __global__ void logic(const unsigned *x, const unsigned *y, unsigned *both, unsigned *any, unsigned *one) {
    int i = threadIdx.x;
    both[i] = x[i] & y[i];
    any[i] = x[i] | y[i];
    one[i] = x[i] ^ y[i];
}
