// The state of one initialised process: its identity, the data it can read, its
// connections and its handlers. Operations are functions of their own
// (get_op.h, put_op.h, ...).
#ifndef CANOPY_CLIENT_SESSION_SESSION_H_
#define CANOPY_CLIENT_SESSION_SESSION_H_

#include <functional>
#include <utility>

#include "client/channel/channel.h"
#include "client/channel/progress.h"
#include "client/events/event_engine.h"
#include "client/events/seen_events.h"
#include "client/events/subscriptions.h"
#include "client/session/bootstrap.h"
#include "client/session/commits.h"
#include "client/session/group_invitations.h"
#include "client/session/job_fences.h"
#include "client/session/known_groups.h"
#include "client/session/lookup.h"
#include "client/session/namespaces.h"
#include "client/session/output_pulls.h"
#include "client/session/output_wishes.h"
#include "client/session/pointer_cache.h"
#include "client/session/query_cache.h"
#include "client/session/registered_attributes.h"
#include "client/session/servers.h"
#include "client/session/stdin_push.h"
#include "client/session/value_store.h"
#include "common/host_op.h"
#include "common/ids.h"
#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

struct Notification;

// Owns the parts; each class states which threads may call it. The functions
// here may be called from any thread. The session must not be destroyed during
// a call, nor from a task of its progress().
class Session final : public SourcePlaces {
 public:
  // With `external_progress` callbacks run in PMIx_Progress only.
  Session(Bootstrap bootstrap, bool external_progress);
  ~Session() override;

  const ProcId& self() const override { return self_; }

  // The data that this process can read: data of jobs, the process's own
  // values, and a lookup in both by the rules of PMIx_Get.
  Namespaces& namespaces() { return namespaces_; }
  // Returns this process's job.
  const JobView& job() const { return namespaces_.own(); }
  ValueStore& store() { return store_; }
  PointerCache& pointers() { return pointers_; }
  const Lookup& lookup() const { return lookup_; }
  QueryCache& query_cache() { return query_cache_; }
  RegisteredAttributes& registered() { return registered_; }

  Progress& progress() { return progress_; }
  EventEngine& events() { return events_; }
  Subscriptions& subscriptions() { return subscriptions_; }
  JobFences& fences() { return fences_; }
  Commits& commits() { return commits_; }
  KnownGroups& groups() { return groups_; }
  const KnownGroups& groups() const { return groups_; }
  OutputPulls& pulls() { return pulls_; }
  OutputWishes& output_wishes() { return output_wishes_; }
  StdinPush& stdin_push() { return stdin_push_; }
  GroupInvitations& invitations() { return invitations_; }

  Servers& servers() { return servers_; }
  // Returns the agent of a launched process.
  const AgentConnection& agent() const { return servers_.home(); }
  // Returns the primary server's channel, for all operations except those with
  // other processes of the job. Returns null for a singleton, for a server, and
  // for a tool without a server.
  ChannelRef channel() { return servers_.primary(); }
  // Returns the channel for operations with other processes of the job.
  ChannelRef job_channel() { return servers_.OfJob(); }

  // Forwards notifications of this process to the processes that it serves. Set
  // only in servers, and in tools that are servers too.
  using Distributor =
      std::function<int(const Notification&, pmix_op_cbfunc_t, void* cbdata)>;
  // Requests that the server's host spawn `call`, encoded as in a frame. Set
  // only in servers. On success `done` is called once, in a thread of the
  // server. `waits` means that the caller blocks until then.
  using Spawned = std::function<void(int status, const std::string& nspace)>;
  using Spawner =
      std::function<int(std::string call, bool waits, Spawned done)>;
  // Calls the host's function for `op`, encoded as in a frame
  // (common/local_protocol.h, kHostCall). Set only in servers. `done` and
  // `waits` have the meaning that they have for Spawner.
  using HostAnswer =
      std::function<void(int status, const std::string& results)>;
  using HostFunction =
      std::function<int(HostOp op, std::vector<ProcId> targets,
                        std::string call, bool waits, HostAnswer done)>;
  // Returns the address at which others connect to this server, or to this tool
  // as a server (PMIX_MYSERVER_URI); empty if there is none.
  using Address = std::function<std::string()>;
  struct OwnServer {
    Distributor distribute;
    Spawner spawn;
    HostFunction call;
    Address address;
  };
  void set_own_server(OwnServer server) {
    const MutexLock lock(own_server_mutex_);
    own_server_ = std::move(server);
  }
  Distributor distributor() {
    const MutexLock lock(own_server_mutex_);
    return own_server_.distribute;
  }
  Spawner spawner() {
    const MutexLock lock(own_server_mutex_);
    return own_server_.spawn;
  }
  HostFunction host() {
    const MutexLock lock(own_server_mutex_);
    return own_server_.call;
  }
  Address address() {
    const MutexLock lock(own_server_mutex_);
    return own_server_.address;
  }

  // SourcePlaces.
  bool OnSameNode(const ProcId& proc) const override;
  bool IsServer(const ProcId& proc) const override {
    return proc == server_ || servers_.Knows(proc);
  }

 private:
  const ProcId self_;
  const ProcId server_;  // name of the first server
  Namespaces namespaces_;
  ValueStore store_;
  PointerCache pointers_;
  const Lookup lookup_;
  QueryCache query_cache_;
  RegisteredAttributes registered_;
  Subscriptions subscriptions_;
  SeenEvents seen_;
  OutputWishes output_wishes_;
  OutputPulls pulls_;  // its tasks run on progress_
  StdinPush stdin_push_;
  Progress progress_;
  EventEngine events_;
  JobFences fences_;
  KnownGroups groups_;
  GroupInvitations invitations_;
  Mutex own_server_mutex_;
  OwnServer own_server_ CANOPY_GUARDED_BY(own_server_mutex_);
  // Declared after the barrier, whose counter the mailbox refers to.
  Commits commits_;
  // Declared last, because the channels call the other parts as long as they
  // exist.
  Servers servers_;
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SESSION_H_
