// What the agent's runtime asks of its adapters. All calls happen on the loop
// thread; adapters answer by posting core inputs to the InputSink (directly
// when already on the loop thread, through EventLoop::Post otherwise).
#ifndef CANOPY_SERVER_PORTS_PORTS_H_
#define CANOPY_SERVER_PORTS_PORTS_H_

#include <memory>
#include <string>

#include "common/job.h"
#include "common/status.h"
#include "server/core/step.h"

namespace canopy {

// Where adapters put what happened. Loop thread only; may be called from
// within a port call (the runtime queues it).
class InputSink {
 public:
  virtual ~InputSink() = default;
  virtual void OnInput(core::Input input) = 0;
};

// The overlay. Messages to a node that is lost are dropped (the core learns of
// the loss by NodeStateChanged).
class OverlayPort {
 public:
  virtual ~OverlayPort() = default;
  virtual void Send(core::PeerMessage message) = 0;
};

// Top 8 bits of core::ClientId: which adapter holds the connection.
enum class ClientKind : uint8_t { kLocal = 1, kStock = 2, kPmi1 = 3 };

inline core::ClientId MakeClientId(ClientKind kind, uint64_t number) {
  return (static_cast<uint64_t>(kind) << 56) | number;
}
inline ClientKind KindOf(core::ClientId id) {
  return static_cast<ClientKind>(id >> 56);
}

// One kind of endpoint for local processes.
class ClientPort {
 public:
  virtual ~ClientPort() = default;
  // Ranks of this node may connect from now on / not any more.
  virtual void AddJob(const core::RegisterJob& job) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
  virtual void Reply(const core::ReplyClient& reply) = 0;
  virtual void Notify(const core::NotifyClient& event) = 0;
  virtual void Close(core::ClientId client, const std::string& reason) = 0;
};

// Shared memory that local clients read.
class DatastorePort {
 public:
  virtual ~DatastorePort() = default;
  // Makes the job's segment with all its job-level data; the job's environment
  // is ready after it. Returns the reason when it can not.
  virtual Status AddJob(const core::RegisterJob& job) = 0;
  virtual void Publish(const core::PublishRank& data) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

// What job-control requests ask for, as far as it is done on the caller's node.
class JobControlPort {
 public:
  virtual ~JobControlPort() = default;
  // Decides at once. `results` is codec form: SIZE n, then n INFO; or empty.
  virtual Status Control(const core::ControlJob& request, Bytes* results) = 0;
  // Ranks ended, in whatever way.
  virtual void OnExits(const core::LocalExits& exits) = 0;
  virtual void DropJob(const std::string& nspace) = 0;
};

// Starting and holding processes.
class ProcessPort {
 public:
  virtual ~ProcessPort() = default;
  virtual void Prepare(const core::PrepareLocal& job) = 0;
  virtual void Start(const std::string& nspace) = 0;
  virtual void Signal(const core::SignalLocal& signal) = 0;
  virtual void Kill(const core::KillLocal& kill) = 0;
  virtual void Forget(const std::string& nspace) = 0;
  virtual void Credit(const core::CreditOutput& credit) = 0;
  virtual void ResendOutput(const std::string& nspace) = 0;
  virtual void Feed(const core::FeedInput& input) = 0;
};

// Adds to the environment that a process is started with: each kind of
// endpoint contributes what its clients need to find it.
class ProcessEnvironment {
 public:
  virtual ~ProcessEnvironment() = default;
  // NAME=VALUE for every rank of the job on this node.
  virtual std::vector<std::string> ForJob(const core::PrepareLocal& job) = 0;
  // NAME=VALUE for one rank on top of that.
  virtual std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                           Rank rank) = 0;
  // A descriptor that the process inherits, or -1. Ownership goes to the
  // caller. `name` is the variable that tells the process its number.
  struct InheritedFd {
    int fd = -1;
    std::string name;
  };
  virtual InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) = 0;
  // The rank's process exists. Loop thread.
  virtual void OnProcess(const std::string& nspace, Rank rank, int pid) = 0;
};

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PORTS_H_
