#include "server/facts/facts_reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/facts/job_data.h"
#include "server/facts/process_memory.h"

namespace canopy::facts {

FactsReader::~FactsReader() {
  for (const auto& [number, measuring] : measuring_) {
    loop_->CancelTimer(measuring.timer);
  }
}

void FactsReader::Read(const core::ReadFacts& request) {
  core::FactsRead read;
  read.number = request.number;
  for (const core::DataKey& key : request.keys) {
    read.values.emplace_back(Find(key));
  }
  if (request.agent) read.agent = ResidentBytes(getpid());
  measuring_[request.number] = {request, std::move(read)};
  Measure(request.number);
}

void FactsReader::Measure(uint64_t number) {
  Measuring& measuring = measuring_.at(number);
  const std::vector<int>& wanted = measuring.request.pids;
  std::vector<uint64_t>& done = measuring.read.pids;
  const size_t end = std::min(wanted.size(), done.size() + kMeasuredAtOnce);
  while (done.size() < end) done.push_back(ResidentBytes(wanted[done.size()]));
  if (end < wanted.size()) {
    measuring.timer = loop_->AddTimer(0, [this, number] { Measure(number); });
    return;
  }
  core::FactsRead read = std::move(measuring.read);
  measuring_.erase(number);
  sink_->OnInput(std::move(read));
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
