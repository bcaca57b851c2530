// How a command of a PMI-1 client comes to its end.
#ifndef CANOPY_SERVER_PMI1_ANSWERS_H_
#define CANOPY_SERVER_PMI1_ANSWERS_H_

#include <cstddef>
#include <string>

#include "server/pmi1/connection.h"

namespace canopy::pmi1 {

// Removes bytes from the socket that were only looked at.
void TakeFrom(int fd, size_t size);

// Ends the command that is handled: takes it from its socket.
void Done(Connection& c);

// Ends it with an answer, a line without its end. A client that does not read
// is disconnected.
void Answer(Connections* connections, Connection& c, const std::string& line);

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_ANSWERS_H_
