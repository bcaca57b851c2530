// The rules that must hold after every step of a simulated cluster: no
// contribution is lost, duplicated or invented.
#ifndef CANOPY_TESTS_SIM_ORACLE_H_
#define CANOPY_TESTS_SIM_ORACLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/job_actions.h"

namespace canopy::sim {

// Returns standard input between two positions. The text depends on the
// position, so that any loss, repetition or disorder is visible.
std::string InputText(uint64_t begin, uint64_t end);

// Receives the actions of processes and all messages, publications and replies
// of agents, and compares them. Of the core, it depends only on the meaning of
// the messages. Each change is checked when it is made, so that everything is
// checked after each step.
class Oracle {
 public:
  using Report = std::function<void(const std::string& error)>;
  explicit Oracle(Report report) : report_(std::move(report)) {}

  // Allows that agents are restarted, so that a contribution may be made again,
  // from other data.
  void set_restarts() { restarts_ = true; }

  void OnJob(const JobSpec& job);
  // Called when a node's shared memory is gone.
  void OnNodeReset(NodeId node);
  void OnDrop(NodeId node, const std::string& nspace);
  // Called when the job's processes on the node are being ended.
  void OnKill(NodeId node, const std::string& nspace) {
    killed_.emplace(node, nspace);
  }

  void OnCommit(const ProcId& proc, core::Scope scope, const std::string& key,
                const std::string& value);
  // Called when the process arrives at a collective; `participants` is the list
  // in the process's call.
  void OnArrive(const ProcId& proc, core::RequestId request,
                core::CollectiveOp op, std::vector<ProcId> participants,
                bool collect);
  // Called at every reply of an agent to a process on `node`.
  void OnReply(NodeId node, core::RequestId request, int status);
  void OnGetReply(const ProcId& target, std::string_view kvals);
  void OnPublish(NodeId node, const core::PublishRank& data);
  // Called when a process publishes a key for all processes of its user; the
  // key is also its value. With `once`, only one reader gets the value.
  void OnPublishCall(const ProcId& proc, core::RequestId request,
                     const std::string& key, bool once);
  void OnLookupReply(const ProcId& proc, core::RequestId request,
                     std::string_view found);
  // Called at a call of PMIx_Spawn, and at its execution.
  void OnSpawnCall(core::RequestId request, std::string_view call) {
    spawns_[request] = call;
  }
  void OnSpawn(core::RequestId request, std::string_view call);
  // Return the number of calls that have received a key, and of calls that have
  // published it.
  size_t NumReaders(const std::string& key) const;
  size_t NumPublishers(const std::string& key) const;
  void OnSend(const core::PeerMessage& message);

  // Records that a job's input is InputText from 0 up to `end`.
  void OnInputOffered(const std::string& nspace, uint64_t end) {
    input_[nspace] = end;
  }
  void OnInputRead(const ProcId& proc, std::string_view data);
  // `closed` is true if no more input would have been offered.
  void OnInputEnd(const ProcId& proc, bool closed);

 private:
  // The n-th commit of a process to one key.
  struct Written {
    uint64_t number = 0;  // among all commits of the process
    core::Scope scope = core::Scope::kGlobal;
    std::string value;
  };
  struct Proc {
    NodeId node = kNoNode;
    uint64_t commits = 0;
    std::map<std::string, std::vector<Written>> keys;
  };
  struct Arrival {
    core::CollectiveId id;
    ProcId proc;
  };
  struct Collective {
    // By process: the number of its commits before it arrived.
    std::map<ProcId, uint64_t> arrived;
    bool all_collect = true;
    std::map<NodeId, std::string> data;  // data as first seen
  };
  struct Group {
    std::vector<ProcId> members;  // every process of the group
    std::map<NodeId, std::vector<ProcId>> by_node;
    std::map<ProcId, uint64_t> arrivals;
    // True if it is unknown which process arrived at which collective.
    bool refusals = false;
    std::map<uint64_t, Collective> sequence;
  };
  using Key = std::pair<core::CollectiveOp, std::vector<ProcId>>;
  struct Shown {
    // By key: the number of the published commit.
    std::map<std::string, uint64_t> keys;
  };

  Group& GroupOf(const core::CollectiveId& id);
  void CheckContributions(
      const core::CollectiveId& id,
      const std::vector<core::NodeContribution>& contributions);
  // Checks the committed data in the contributions of the members' nodes to the
  // construct of a group.
  void CheckGroupData(const core::CollectiveId& id,
                      const std::vector<core::NodeContribution>& contributions);
  void CheckData(const core::CollectiveId& id, NodeId node, const Bytes& data);
  // Returns every key of a KVAL sequence with the commit that wrote it. Reports
  // keys that were never written for that side, and duplicate keys.
  std::map<std::string, uint64_t> CheckKvals(const ProcId& proc,
                                             std::string_view kvals, bool local,
                                             const char* where);
  void TakeBack(const Arrival& arrival);
  void CheckSuccess(NodeId node, const Arrival& arrival);
  void CheckSeen(NodeId node, const ProcId& proc, uint64_t commits);

  const Report report_;
  bool restarts_ = false;
  std::map<std::string, JobSpec> jobs_;
  std::map<ProcId, Proc> procs_;
  std::map<Key, Group> groups_;
  std::map<core::RequestId, Arrival> arrivals_;
  std::map<std::pair<NodeId, ProcId>, Shown> shown_;
  std::set<std::pair<NodeId, std::string>> killed_;
  struct Published {
    std::set<ProcId> callers;
    bool once = false;
    std::set<core::RequestId> readers;
    std::set<core::RequestId> published;
  };
  std::map<std::string, Published> published_;  // by key
  std::map<core::RequestId, std::string> publishes_;
  std::map<core::RequestId, std::string> spawns_;
  std::map<std::string, uint64_t> input_;  // by job: bytes offered
  std::map<ProcId, uint64_t> input_read_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_ORACLE_H_
