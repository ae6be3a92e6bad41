// The integers from 0 on, one a thread.
extern "C" __global__ void range_kernel(int *out, int *status) {
    out[threadIdx.x] = threadIdx.x;
}
