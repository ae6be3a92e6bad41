// Products of numbers that are known only when the kernel runs.
extern "C" __global__ void multiply(const int *a, const int *b, int *product) {
    int i = threadIdx.x;
    product[i] = a[i] * b[i];
}
