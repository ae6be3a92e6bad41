// The least and the greatest of all numbers, with and without sign.
extern "C" __global__ void extrema(const int *a, int *least, int *greatest, unsigned *uleast, unsigned *ugreatest) {
    int x = a[threadIdx.x];
    atomicMin(least, x);
    atomicMax(greatest, x);
    atomicMin(uleast, static_cast<unsigned>(x));
    atomicMax(ugreatest, static_cast<unsigned>(x));
}
