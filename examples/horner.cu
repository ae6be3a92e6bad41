// Polynomial by Horner's rule, one thread a point: y = c[0] + c[1] x + ... + c[degree] x^degree.
extern "C" __global__ void horner(const int *c, int degree, const int *x, int *y) {
    int i = threadIdx.x;
    int value = c[degree];
    for (int k = degree - 1; k >= 0; k--) {
        value = value * x[i] + c[k];
    }
    y[i] = value;
}
