// Lengths of the shortest paths between all pairs of n vertices, a thread a pair: vertex after vertex is allowed as a stop.
extern "C" __global__ void floyd_warshall(int *distance) {
    int n = blockDim.x, from = threadIdx.y * n, to = threadIdx.x;
    for (int stop = 0; stop < n; stop++) {
        int by_stop = distance[from + stop] + distance[stop * n + to];
        if (by_stop < distance[from + to]) {
            distance[from + to] = by_stop;
        }
        __syncthreads();
    }
}
