// PMI-1 over an inherited socket: how an unmodified MPICH program finds the
// other ranks of its job.
#ifndef CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
#define CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/job_actions.h"
#include "server/core/step/log_line.h"
#include "server/core/step/process_actions.h"
#include "server/pmi1/pmi1_wire.h"
#include "server/ports/client_port.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"

namespace canopy::pmi1 {

struct Pmi1Options {
  NodeId self = 0;
  // VALUE (codec form) of a key that some rank of the namespace committed.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_key;
  // VALUE of a job-level key.
  std::function<std::optional<std::string>(const std::string& nspace,
                                           std::string_view key)>
      find_job_key;
  std::function<void(const core::LogLine&)> log;
};

// A rank's process inherits one end of a socket pair, so no other process can
// speak for it. What it puts is kept and committed with its next barrier, which
// is a fence over its namespace that collects data. Spawn and name publishing
// are refused with an error code. Loop thread only; loop and sink outlive it.
class Pmi1Endpoint : public ClientPort, public ProcessEnvironment {
 public:
  Pmi1Endpoint(EventLoop* loop, InputSink* sink, Pmi1Options options);
  ~Pmi1Endpoint() override;
  Pmi1Endpoint(const Pmi1Endpoint&) = delete;
  Pmi1Endpoint& operator=(const Pmi1Endpoint&) = delete;

  void AddJob(const core::RegisterJob& job) override;
  void DropJob(const std::string& nspace) override;
  void Reply(const core::ReplyClient& reply) override;
  // PMI-1 knows no events.
  void Notify(const core::NotifyClient&) override {}
  void Close(core::ClientId client, const std::string& reason) override;

  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  // {-1} when no socket pair can be made; logged.
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string&, Rank, int) override {}

  size_t num_connections() const { return connections_.size(); }

 private:
  struct Connection {
    core::ClientId id = 0;
    UniqueFd fd;
    ProcId proc;
    std::shared_ptr<const JobSpec> job;
    std::string partial;  // beginning of a line
    OutQueue out;
    std::map<std::string, std::string, std::less<>> puts;  // not yet committed
    bool initialized = false;                              // the core knows it
    bool in_barrier = false;
    bool in_spawn = false;  // between mcmd=spawn and endcmd
    bool last_spawn = false;
    std::string spawn_total;
    bool ending = false;
    bool dirty = false;
    uint32_t watched = 0;
  };

  Connection* Find(core::ClientId client);
  void Log(core::LogLine::Level level, std::string text);
  void OnEvents(core::ClientId id, uint32_t events);
  void Receive(Connection& c);
  void HandleLines(Connection& c);
  void HandleLine(Connection& c, std::string_view line);
  void HandleSpawnLine(Connection& c, std::string_view line);
  void HandleCommand(Connection& c, const Command& command);
  void HandleInit(Connection& c, const Command& command);
  void HandlePut(Connection& c, const Command& command);
  void HandleGet(Connection& c, const Command& command);
  std::optional<std::string> Lookup(const Connection& c,
                                    const std::string& key) const;
  void HandleBarrier(Connection& c);
  void HandleAbort(Connection& c, const Command& command);
  void Send(Connection& c, const std::string& line);
  // Closes at the end of the round. An empty reason is an ordinary end.
  void End(Connection& c, const std::string& reason);
  void MarkDirty(Connection& c);
  void FlushDirty();
  void Flush(Connection& c);
  void Destroy(core::ClientId id);

  EventLoop* loop_;
  InputSink* sink_;
  Pmi1Options options_;
  uint64_t next_number_ = 1;
  std::unordered_map<core::ClientId, std::unique_ptr<Connection>> connections_;
  std::vector<core::ClientId> dirty_;
  std::shared_ptr<Pmi1Endpoint*> self_;  // cleared when this goes
};

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_PMI1_ENDPOINT_H_
