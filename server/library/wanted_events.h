// The events of the environment that processes of this node want: the host is
// asked to pass them on (PMIx Standard, chapter "Server-Specific Interfaces").
#ifndef CANOPY_SERVER_LIBRARY_WANTED_EVENTS_H_
#define CANOPY_SERVER_LIBRARY_WANTED_EVENTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "pmix_server.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/library/upcalls.h"

namespace canopy::library {

// A host passes on what concerns its jobs unasked. Of all other events, those
// with codes of the environment (PMIX_SYSTEM_EVENT), it is told which are
// wanted: of each once, whoever wants it, and once more when nobody does any
// more. Handlers of all codes ask for none. Loop thread only.
class WantedEvents {
 public:
  // Both outlive it.
  WantedEvents(const canopy_server_module_t* module, Upcalls* upcalls)
      : module_(*module), upcalls_(*upcalls) {}

  struct User {
    uint32_t uid = 0;
    uint32_t gid = 0;
  };
  // False: the host is not concerned. Else `done` comes, at once or later, with
  // its status; kErrNotSupported when it has no function for that. The client
  // is then registered for those of its codes that the host had granted before.
  bool Add(const core::EventsWanted& in, User user,
           std::function<void(int status)> done);
  void Remove(const core::EventsUnwanted& in);
  // Its connection ended.
  void RemoveAll(core::ClientId client);

 private:
  enum class Grant : uint8_t { kNone, kAsked, kGranted };
  struct Code {
    std::set<core::ClientId> clients;
    Grant grant = Grant::kNone;  // by the host
  };
  // Until the host has answered about a code that somebody else wants, too.
  struct Waiting {
    core::EventsWanted in;
    User user;
    std::function<void(int status)> done;
  };

  bool AwaitsHost(const std::vector<int>& codes) const;
  void OnAnswer();
  void Settle(core::ClientId client, const std::vector<int>& codes, int status);
  void Erase(core::ClientId client, const std::vector<int>& codes);
  void Deregister(std::vector<int> codes);

  const canopy_server_module_t& module_;
  Upcalls& upcalls_;
  std::map<int, Code> codes_;
  std::vector<Waiting> waiting_;
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_WANTED_EVENTS_H_
