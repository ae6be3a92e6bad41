// Nested branches on data: every lane may take another path, and they meet again at the store.
extern "C" __global__ void nested(const int *a, const int *b, int *out) {
    int i = threadIdx.x;
    int x = a[i], y = b[i], result;
    if (x > 0) {
        if (y > 0) {
            result = x * y;
        } else {
            result = x - y;
            if (result > 100) {
                result = 100;
            }
        }
    } else if (x == 0) {
        result = y << 4;
    } else {
        result = y < x ? ~y : x ^ y;
    }
    out[i] = result;
}
