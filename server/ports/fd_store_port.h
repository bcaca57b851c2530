// Stores an adapter's descriptors that must outlive this agent: its successor,
// after a restart or a handover, gets them back by their names.
#ifndef CANOPY_SERVER_PORTS_FD_STORE_PORT_H_
#define CANOPY_SERVER_PORTS_FD_STORE_PORT_H_

#include <string>
#include <utility>
#include <vector>

#include "common/posix/named_fd.h"

namespace canopy {

// Descriptors are stored per job, until the job ends. A name is unique in its
// job, begins with a prefix of its adapter, and is part of the compatibility
// between releases. The stored descriptor is a duplicate of the adapter's; the
// store owns it. Loop thread only.
class FdStorePort {
 public:
  // The time at which a released connection leaves the store: later, together
  // with connections that are released meanwhile, or during the call. Until
  // then the peer of a closed connection does not see its end.
  enum class Release { kBatched, kAtOnce };

  virtual ~FdStorePort() = default;

  // Stores a memory file or a listening socket, of which a job has few. The
  // file is stored when the call returns and replaces an earlier one of the
  // same name. No effect for a job without processes on this node.
  virtual void HoldFile(const std::string& nspace, NamedFd file) = 0;
  // Stores connections of the job's processes, of which there may be many.
  // Returns false and stores no connection if there is no room for all of them
  // or one is invalid. Names that were released before may be reused, even if
  // they are still stored.
  virtual bool HoldConnections(const std::string& nspace,
                               std::vector<NamedFd> connections) = 0;
  // Removes a connection from the store. No effect for a name that is not
  // stored.
  virtual void ReleaseConnection(const std::string& nspace,
                                 const std::string& name, Release when) = 0;

  // Stores a single connection as HoldConnections does.
  bool HoldConnection(const std::string& nspace, NamedFd connection) {
    std::vector<NamedFd> connections;
    connections.push_back(std::move(connection));
    return HoldConnections(nspace, std::move(connections));
  }
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FD_STORE_PORT_H_
