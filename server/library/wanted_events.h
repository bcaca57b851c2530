// The subscriptions of local processes to events of the environment, which the
// host must forward (PMIx Standard, chapter "Server-Specific Interfaces").
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

// A host forwards events about its jobs without a request. Other events, those
// with codes of the environment (PMIX_SYSTEM_EVENT), need a request: a code is
// registered with the host once for all its subscribers, and deregistered when
// the last of them is gone. A handler for all codes causes no registration.
// Loop thread only.
class WantedEvents {
 public:
  // `module` and `upcalls` outlive the object.
  WantedEvents(const canopy_server_module_t* module, Upcalls* upcalls)
      : module_(*module), upcalls_(*upcalls) {}

  struct User {
    uint32_t uid = 0;
    uint32_t gid = 0;
  };
  // Adds the subscriptions of a client. Returns false if the host need not be
  // called. Otherwise `done` gets the host's status, before this function
  // returns or later; it is kErrNotSupported if the host has no such function.
  // After a failure the client keeps those of its codes that the host granted
  // before.
  bool Add(const core::EventsWanted& in, User user,
           std::function<void(int status)> done);
  // Removes these subscriptions of a client.
  void Remove(const core::EventsUnwanted& in);
  // Removes the subscriptions of a closed connection.
  void RemoveAll(core::ClientId client);

 private:
  enum class Grant : uint8_t { kNone, kAsked, kGranted };
  struct Code {
    std::set<core::ClientId> clients;
    Grant grant = Grant::kNone;  // the host's decision
  };
  // A subscription that waits for the host's answer about a code that another
  // client has requested.
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
