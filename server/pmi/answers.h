// Ends the command of a PMI client.
#ifndef CANOPY_SERVER_PMI_ANSWERS_H_
#define CANOPY_SERVER_PMI_ANSWERS_H_

#include <cstddef>
#include <string>

#include "server/pmi/connection.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

// Removes `size` bytes from the socket, which were only peeked at before.
void TakeFrom(int fd, size_t size);

// Ends the current command and removes it from its socket.
void Done(Connection& c);

// Ends the current command with an answer in the client's protocol. Disconnects
// a client that does not read.
void Answer(Connections* connections, Connection& c, const Reply& reply);
// Ends the current command with an error: `code` is an error number of PMI-2,
// and `problem` its reason in one word.
void Refuse(Connections* connections, Connection& c, int code,
            const std::string& problem);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_ANSWERS_H_
