// What all threads of a block find out at a barrier: how many of their numbers are above the limit, whether any is,
// and whether all are; each thread writes its share of the answer.
extern "C" __global__ void barrier_votes(const int *a, int limit, int *above, int *any, int *all) {
    int i = threadIdx.x;
    int is_above = a[i] > limit;
    above[i] = __syncthreads_count(is_above) - is_above;  // of the others
    any[i] = __syncthreads_or(is_above) != 0;
    all[i] = __syncthreads_and(is_above) != 0;
}
