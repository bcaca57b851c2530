#include "server/pmi/answers.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/pmi/pmi1_wire.h"
#include "server/pmi/pmi2_wire.h"

namespace canopy::pmi {

void TakeFrom(int fd, size_t size) {
  char buffer[kMaxLine + 1];
  while (size > 0) {
    const ssize_t n =
        recv(fd, buffer, std::min(size, sizeof buffer), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    size -= static_cast<size_t>(n);
  }
}

void Done(Connection& c) {
  TakeFrom(c.fd.get(), std::exchange(c.command_size, 0));
  c.request = {};
}

// Sends the answer without blocking, because the kernel has room for many
// answers, and a client sends one request at a time.
void Answer(Connections* connections, Connection& c, const Reply& reply) {
  const bool is_line = !c.state.pmi2 || c.request.operation == Operation::kInit;
  const std::string text =
      is_line ? AnswerLine(c.request, reply) : AnswerMessage(c.request, reply);
  const ssize_t n =
      send(c.fd.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n != static_cast<ssize_t>(text.size())) {
    return connections->End(
        c, n < 0 && errno == EPIPE ? "" : "does not read its messages");
  }
  Done(c);
}

void Refuse(Connections* connections, Connection& c, int code,
            const std::string& problem) {
  Answer(connections, c, Reply::Error(code, problem));
}

}  // namespace canopy::pmi
