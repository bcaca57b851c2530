// What a host has told of its resources and of what the processes of its jobs
// are to have, while this process runs a server.
#ifndef CANOPY_CLIENT_ABI_SERVER_DATA_H_
#define CANOPY_CLIENT_ABI_SERVER_DATA_H_

#include <span>
#include <string>

#include "common/mutex.h"
#include "common/status.h"
#include "common/thread_annotations.h"
#include "pmix_types.h"
#include "server/registration/registration.h"
#include "server/registration/resources.h"
#include "server/setup/local_support.h"
#include "server/spawn/environment.h"

namespace canopy::client {

// Any thread, and a child of a fork. What its functions refuse is what they
// keep, see there.
class ServerData {
 public:
  // The one of this process.
  static ServerData& Of();

  // From the first PMIx_server_init to the last PMIx_server_finalize; what was
  // told goes with the server.
  void Open();
  void Close();
  bool is_open() const;

  Status RegisterResources(std::span<const pmix_info_t> infos);
  Status DeregisterResources(std::span<const pmix_info_t> infos);
  Status DeliverInventory(std::span<const pmix_info_t> infos);
  // To what a host tells of a namespace, before its job is made.
  void AddResources(registration::Registration* told) const;

  Status AddSupport(const std::string& nspace,
                    std::span<const pmix_info_t> infos);
  // To the environment that PMIx_server_setup_fork was given, before the
  // server's own variables.
  void ApplySupport(const std::string& nspace, spawn::Environment* env) const;
  // When the namespace is deregistered.
  void RemoveSupport(const std::string& nspace);

 private:
  static void BeforeFork();
  static void AfterFork();

  static ServerData* the_;

  mutable Mutex mu_;
  bool open_ CANOPY_GUARDED_BY(mu_) = false;
  registration::Resources resources_ CANOPY_GUARDED_BY(mu_);
  setup::LocalSupport support_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_ABI_SERVER_DATA_H_
