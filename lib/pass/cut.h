/* Cutting a program into pieces that run one after another.
 *
 *     x -> [a -> b] -> c -> [d -> e] -> y        nodes a b | c | d e
 *
 *     piece 0: x -> b       piece 1: b -> c      piece 2: c -> y
 *
 * What a later piece reads is an output of each piece before it and an input of the next, under one name, so that the outputs of a piece
 * are the inputs of its successor. Sizes that a piece cannot read off its inputs cross as numbers. Weights stand in every piece that reads them. */
#ifndef TC_PASS_CUT_H
#define TC_PASS_CUT_H

#include "graph/graph.h"

typedef struct {
    int npieces;
    const int *piece;         /* of each node of the main graph, in order: from 0, never falling, none left out */
    const char *const *names; /* of the pieces */
    const int *enters;        /* by input of the program: the piece that takes it from the user; NULL: all of them piece 0 */
    int results_at;           /* the piece that gives the results; those that it does not know yet are given by the last, as gradients are */
    const char *prefix;       /* of the names of what crosses: "saved." */
} tc_cut;

/* out: npieces programs, verified, the caller's. p: functional, left as it is. */
tc_status tc_cut_program(const tc_program *p, const tc_cut *cut, tc_program **out);

#endif
