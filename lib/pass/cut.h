/* Cuts a program into pieces that run one after another, for tc-export --split and for forward and backward halves (pass/partition.c).
 *
 *     x -> [a -> b] -> c -> [d -> e] -> y        nodes a b | c | d e
 *
 *     piece 0: x -> b       piece 1: b -> c      piece 2: c -> y
 *
 * A value that a later piece reads is passed through every piece between, under one name, so that the outputs of a piece are the inputs of the next.
 * Sizes that a piece cannot read from its inputs cross as numbers. Weights are inputs of every piece that reads them. */
#ifndef TC_PASS_CUT_H
#define TC_PASS_CUT_H

#include "graph/graph.h"

typedef struct {
    int npieces;
    const int *piece;         /* by node of the main graph, in order: from 0, non-decreasing, without gaps */
    const char *const *names; /* of the pieces */
    const int *enters;        /* by input of the program: the piece that takes it from the user; NULL: piece 0 takes all */
    int results_at;           /* the piece that returns the results; results that are defined later, and gradients, are returned by the last piece */
    const char *prefix;       /* prefix for the names of crossing values: "saved." */
} tc_cut;

/* out: npieces verified programs, owned by the caller. p: functional; unchanged. */
tc_status tc_cut_program(const tc_program *p, const tc_cut *cut, tc_program **out);

#endif
