/* cupola/owner.h - objects of other code that graphs and callbacks keep alive, for the garbage
 * collector of a language.
 *
 * The library releases such an object (`owner` or `data` of the functions that take a `release`)
 * with its own last reference. A collector must know which references these are: an object that
 * refers to the graph that keeps it is a cycle. */
#ifndef CUPOLA_OWNER_H
#define CUPOLA_OWNER_H

#include "cupola/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many graphs, executable graphs, captures and pending calls of this process keep the object;
 * 0 where none does. Several sets that graphs share count as one. */
CUPOLA_API long cupola_owner_references(const void* owner);
/* Calls visit(argument, owner, release, is_call) for each object that the graph keeps, as often as
 * it keeps it: those of calls, and the others. */
CUPOLA_API int cupola_owner_list(const cupola_graph* graph,
                                 void (*visit)(void* argument, void* owner, void (*release)(void*),
                                               int is_call),
                                 void* argument);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_OWNER_H */
