// Insertion sort of n <= 8 numbers by each thread, in an array of its own.
extern "C" __global__ void local_sort(const int *in, int n, int *out) {
    int sorted[8];
    const int *mine = in + threadIdx.x * n;
    for (int k = 0; k < n; k++) {
        int value = mine[k], at = k;
        while (at > 0 && sorted[at - 1] > value) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = value;
    }
    for (int k = 0; k < n; k++) {
        out[threadIdx.x * n + k] = sorted[k];
    }
}
