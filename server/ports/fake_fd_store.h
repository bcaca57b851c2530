// Stands in for the descriptor store in tests of adapters.
#ifndef CANOPY_SERVER_PORTS_FAKE_FD_STORE_H_
#define CANOPY_SERVER_PORTS_FAKE_FD_STORE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/named_fd.h"
#include "common/posix/unique_fd.h"
#include "server/ports/fd_store_port.h"

namespace canopy {

// One store for all jobs, so names must be unique in a test. Released
// connections stay, because a shim may also hold them for some time.
class FakeFdStore : public FdStorePort {
 public:
  void HoldFile(const std::string& nspace, NamedFd file) override {
    nspaces.push_back(nspace);
    files[file.name] = std::move(file.fd);
  }
  bool HoldConnections(const std::string& nspace,
                       std::vector<NamedFd> stored) override {
    if (!has_room) return false;
    nspaces.push_back(nspace);
    for (NamedFd& one : stored) connections[one.name] = std::move(one.fd);
    return true;
  }
  void ReleaseConnection(const std::string&, const std::string& name,
                         Release) override {
    released.push_back(name);
  }

  // Returns a successor's descriptors: duplicates of all files and connections.
  std::vector<NamedFd> Recovered() const {
    std::vector<NamedFd> all;
    for (const auto* stored : {&files, &connections}) {
      for (const auto& [name, fd] : *stored) {
        all.push_back({name, DuplicateFd(fd.get())});
      }
    }
    return all;
  }

  std::map<std::string, UniqueFd> files;
  std::map<std::string, UniqueFd> connections;
  std::vector<std::string> released;
  std::vector<std::string> nspaces;  // one for each call that stored
  bool has_room = true;              // for connections
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_FAKE_FD_STORE_H_
