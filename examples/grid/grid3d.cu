// Every thread of a three-dimensional grid writes where it is: the digits of its x, y and z in the whole grid.
extern "C" __global__ void grid3d(int *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    int at = (z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x;
    out[at] = 100 * z + 10 * y + x;
}
