#include "server/facts/facts_reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"
#include "server/facts/job_data.h"
#include "server/facts/node_usage.h"
#include "server/facts/process_memory.h"
#include "server/facts/process_usage.h"

namespace canopy::facts {

FactsReader::~FactsReader() { loop_->CancelTimer(timer_); }

void FactsReader::Read(const core::ReadFacts& request) {
  waiting_.push_back(request);
  if (waiting_.size() > 1) return;
  if (served_round_ == loop_->round()) {
    Schedule();
  } else {
    Serve();
  }
}

void FactsReader::Schedule() {
  timer_ = loop_->AddTimer(0, [this] {
    timer_ = 0;
    Serve();
  });
}

void FactsReader::Serve() {
  served_round_ = loop_->round();
  if (!std::exchange(begun_, true)) ReadValues();
  if (Measure()) {
    waiting_.pop_front();
    begun_ = false;
    sink_->OnInput(std::exchange(read_, {}));
  }
  if (!waiting_.empty()) Schedule();
}

bool FactsReader::Measure() {
  const core::ReadFacts& request = waiting_.front();
  std::vector<uint64_t>& done = read_.pids;
  const size_t end =
      std::min(request.pids.size(), done.size() + kMeasuredAtOnce);
  while (done.size() < end) {
    done.push_back(ResidentBytes(request.pids[done.size()]));
  }
  std::vector<Bytes>& users = read_.users;
  const bool has_pss = (request.usage.proc &
                        core::UsageBit(core::kProcUsage, PMIX_PROC_PSS)) != 0;
  const size_t at_once = has_pss ? kUsersWithPssAtOnce : kUsersAtOnce;
  const size_t last = std::min(request.users.size(), users.size() + at_once);
  while (users.size() < last) {
    const int pid = request.users[users.size()];
    users.emplace_back(ProcessUsage(pid, request.usage.proc));
  }
  return done.size() == request.pids.size() &&
         users.size() == request.users.size();
}

void FactsReader::ReadValues() {
  const core::ReadFacts& request = waiting_.front();
  read_.number = request.number;
  size_t bytes = 0;
  for (const core::DataKey& key : request.keys) {
    bytes += read_.values.emplace_back(Find(key)).size();
    if (bytes <= core::kMaxFacts) continue;
    read_.values.clear();
    read_.too_much = true;
    break;
  }
  if (request.agent) read_.agent = ResidentBytes(getpid());
  if (request.usage.of_node()) read_.node = Bytes(NodeUsage(request.usage));
}

std::string FactsReader::Find(const core::DataKey& key) const {
  if (key.key == PMIX_QUERY_AVAIL_SERVERS) return AvailableServers();
  if (key.key == PMIX_SERVER_URI) {
    const std::string uri = options_.uri();
    return uri.empty() ? "" : EncodeValue(Value::String(uri).raw());
  }
  const shm::SegmentReader* job = options_.job_data(key.proc.nspace);
  if (job == nullptr) return "";
  std::string value = FindJobData(*job, key);
  const bool names_directory = key.key == PMIX_PROCDIR && !value.empty();
  if (names_directory && options_.make_directory) {
    options_.make_directory(key.proc);
  }
  return value;
}

std::string FactsReader::AvailableServers() const {
  const std::string uri = options_.uri();
  if (uri.empty()) return "";
  const InfoList server{{PMIX_NSPACE, Value::String(options_.server.nspace)},
                        {PMIX_RANK, Value::Rank(options_.server.rank)},
                        {PMIX_SERVER_URI, Value::String(uri)},
                        {PMIX_HOSTNAME, Value::String(options_.host)},
                        {PMIX_SERVER_PIDINFO, Value::Pid(getpid())}};
  InfoList servers;
  servers.Add(PMIX_SERVER_INFO_ARRAY, Value::InfoArray(server));
  return EncodeValue(Value::InfoArray(servers).raw());
}

}  // namespace canopy::facts
