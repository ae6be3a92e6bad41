// Counting with one atomic operation for all lanes that are here together, however many they are: the first of them adds
// for the others.
__device__ __forceinline__ void count_together(int lane, int *counter) {
    unsigned together = __activemask();
    if (__ffs(together) - 1 == lane) {
        atomicAdd(counter, __popc(together));
    }
}

extern "C" __global__ void activemask(const int *a, int *even, int *odd) {
    int i = threadIdx.x;
    if (a[i] & 1) {
        count_together(i, odd);
    } else {
        count_together(i, even);
    }
}
