// Determines where the processes of a registration run.
#ifndef CANOPY_SERVER_REGISTRATION_PLACEMENT_H_
#define CANOPY_SERVER_REGISTRATION_PLACEMENT_H_

#include "server/registration/draft.h"
#include "server/registration/node_numbers.h"
#include "server/registration/problem.h"
#include "server/registration/registration.h"

namespace canopy::registration {

// Sets the node of each process. ReadRegistration describes the precedence of
// the entries. Returns false and sets *problem if entries are invalid or
// contradictory.
bool Place(const Call& call, const Draft& draft, Placement* placement,
           Problem* problem);

}  // namespace canopy::registration

#endif  // CANOPY_SERVER_REGISTRATION_PLACEMENT_H_
