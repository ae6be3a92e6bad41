// Odd-even transposition sort of n words in place, a thread for each pair: n rounds of neighbours that may change places.
extern "C" __global__ void odd_even(int *a, int n) {
    for (int round = 0; round < n; round++) {
        int left = 2 * threadIdx.x + (round & 1);
        if (left + 1 < n && a[left] > a[left + 1]) {
            int larger = a[left];
            a[left] = a[left + 1];
            a[left + 1] = larger;
        }
        __syncthreads();
    }
}
