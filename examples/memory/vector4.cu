// Loads and stores of four words at once: thread i reverses four words and adds up the squares of two.
extern "C" __global__ void vector4(const int *from, int *to, int *squares) {
    int i = threadIdx.x;
    int4 four = reinterpret_cast<const int4 *>(from)[i];
    reinterpret_cast<int4 *>(to)[i] = make_int4(four.w, four.z, four.y, four.x);
    int2 pair = reinterpret_cast<const int2 *>(from)[2 * i + 1];
    squares[i] = pair.x * pair.x + pair.y * pair.y;
}
