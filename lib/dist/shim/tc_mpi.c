/* tc-mpi.so: the only object that includes mpi.h. Built by mpicc, opened with dlopen by dist/dist.c. */
#include "dist/shim/tc_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <string.h>

static MPI_Request requests[2];
static int count;
enum { EXCHANGE = 1, WHY }; /* tags of messages */
static char library[MPI_MAX_LIBRARY_VERSION_STRING];

static int init(int *rank, int *size) {
    int provided, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), n;
    if (rc) return rc;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Get_library_version(library, &n);
    rc = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return rc ? rc : MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int finalize(void) { return MPI_Finalize(); }

static void stop(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static void error(int rc, char *out, size_t n) {
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    if (MPI_Error_string(rc, text, &len)) len = 0;
    if ((size_t)len >= n) len = (int)n - 1;
    memcpy(out, text, (size_t)len);
    out[len] = 0;
}

static int start(int to, const void *send, size_t nsend, int from, void *recv, size_t nrecv) {
    count = 0;
    if (nsend > INT_MAX || nrecv > INT_MAX) return MPI_ERR_COUNT;
    if (from >= 0) {
        int rc = MPI_Irecv(recv, (int)nrecv, MPI_BYTE, from, EXCHANGE, MPI_COMM_WORLD, &requests[count++]);
        if (rc) return rc;
    }
    if (to >= 0) return MPI_Isend(send, (int)nsend, MPI_BYTE, to, EXCHANGE, MPI_COMM_WORLD, &requests[count++]);
    return MPI_SUCCESS;
}

static int test(int *done) { return MPI_Testall(count, requests, done, MPI_STATUSES_IGNORE); }

static int tell(const void *text, size_t n) {
    count = 1; /* an exchange that goes on is given up: the rank ends */
    return MPI_Isend(text, (int)n, MPI_BYTE, 0, WHY, MPI_COMM_WORLD, &requests[0]);
}

static int hear(int *from, void *text, size_t n) {
    int there = 0;
    MPI_Status s;
    *from = -1;
    int rc = MPI_Iprobe(MPI_ANY_SOURCE, WHY, MPI_COMM_WORLD, &there, &s);
    if (rc || !there) return rc;
    *from = s.MPI_SOURCE;
    return MPI_Recv(text, (int)n, MPI_BYTE, s.MPI_SOURCE, WHY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

extern const tc_mpi_api tc_mpi;
__attribute__((visibility("default"))) const tc_mpi_api tc_mpi = {TC_MPI_VERSION, init, finalize, stop, error, start, test, tell, hear, library};
