// Data that a host has registered while this process runs a server: its
// resources, and the environment that the processes of its jobs need.
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

// Functions may be called from any thread, and in a child after fork. Errors
// come from registration::Resources and setup::LocalSupport.
class ServerData {
 public:
  // Returns the object of this process.
  static ServerData& Of();

  // The object is open from the first PMIx_server_init to the last
  // PMIx_server_finalize. Close drops all data.
  void Open();
  void Close();
  bool is_open() const;

  // Change the resources of jobs that are registered later; see
  // registration::Resources.
  Status RegisterResources(std::span<const pmix_info_t> infos);
  Status DeregisterResources(std::span<const pmix_info_t> infos);
  Status DeliverInventory(std::span<const pmix_info_t> infos);
  // Adds the resources to a registration before its job is made.
  void AddResources(registration::Registration* told) const;

  // Adds changes of the environment for the job's processes.
  Status AddSupport(const std::string& nspace,
                    std::span<const pmix_info_t> infos);
  // Adds variables to an environment for PMIx_server_setup_fork, before the
  // server's own variables.
  void ApplySupport(const std::string& nspace, spawn::Environment* env) const;
  // Drops the changes that AddSupport has added for the namespace. Called when
  // the namespace is deregistered.
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
