// Each lane takes the number of another one: of lane 3 of its four, of the next in a ring of eight, of one that is given.
extern "C" __global__ void shfl_idx(const int *in, const int *from, int *third, int *ring, int *given) {
    int i = threadIdx.x;
    int own = in[i];
    third[i] = __shfl_sync(0xffffffff, own, 3, 4);
    ring[i] = __shfl_sync(0xffffffff, own, i + 1, 8);
    given[i] = __shfl_sync(0xffffffff, own, from[i]);
}
