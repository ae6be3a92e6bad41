// Greatest value of things that fit into a knapsack, each taken once at most: thread w knows the best for weight w.
extern "C" __global__ void knapsack(const int *weight, const int *value, int things, int *best) {
    int w = threadIdx.x;
    int own = 0;
    for (int k = 0; k < things; k++) {
        best[w] = own;
        __syncthreads();
        if (w >= weight[k]) {
            own = max(own, best[w - weight[k]] + value[k]);
        }
        __syncthreads();
    }
    best[w] = own;
}
