/* Interface of the MPI shim: a table of plain C functions, so that only tc-mpi.so includes mpi.h; it is opened under a launcher only. Every function
 * returns 0 or MPI's error code; error() gives its text. */
#ifndef TC_DIST_SHIM_TC_MPI_H
#define TC_DIST_SHIM_TC_MPI_H

#include <stddef.h>

#define TC_MPI_VERSION 2
typedef struct {
    int version;
    int (*init)(int *rank, int *size);
    int (*finalize)(void);
    void (*abort)(int code);
    void (*error)(int rc, char *out, size_t n);
    /* Starts at most one send and one receive (peer -1: none); then call test() until done is 1. One exchange at a time. */
    int (*start)(int to, const void *send, size_t nsend, int from, void *recv, size_t nrecv);
    int (*test)(int *done);
    /* Why a rank cannot go on, beside the exchanges: tell() starts sending to rank 0 in an exchange's place; hear() takes such a message of at most n
     * bytes if one has come, else *from is -1. */
    int (*tell)(const void *text, size_t n);
    int (*hear)(int *from, void *text, size_t n);
    const char *library; /* "Open MPI v4.1.4, ..." */
} tc_mpi_api;

#endif
