// Reads the data for queries: job data, the agent's address, memory usage.
#ifndef CANOPY_SERVER_FACTS_FACTS_READER_H_
#define CANOPY_SERVER_FACTS_FACTS_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/shm/segment_reader.h"
#include "server/core/step/facts.h"
#include "server/ports/facts_port.h"
#include "server/ports/input_sink.h"

namespace canopy::facts {

struct FactsOptions {
  ProcId server;     // this agent's PMIx name
  std::string host;  // this node's name
  // Returns the address for tools; empty if there is none (yet).
  std::function<std::string()> uri;
  // Returns the data of a namespace that is registered here, or null.
  std::function<const shm::SegmentReader*(const std::string& nspace)> job_data;
  // Called before the name of a local rank's directory (PMIX_PROCDIR) is
  // returned. May be null.
  std::function<void(const ProcId& proc)> make_directory;
};

// Limits for one round of the loop: the number of processes whose memory is
// measured, and the numbers of processes whose statistics are read, without and
// with PMIX_PROC_PSS. Reading statistics takes longer.
inline constexpr size_t kMeasuredAtOnce = 64;
inline constexpr size_t kUsersAtOnce = 8;
inline constexpr size_t kUsersWithPssAtOnce = 2;

// Loop thread only. The loop and the sink must outlive this object.
class FactsReader final : public FactsPort {
 public:
  FactsReader(EventLoop* loop, InputSink* sink, FactsOptions options)
      : loop_(loop), sink_(sink), options_(std::move(options)) {}
  ~FactsReader() override;
  FactsReader(const FactsReader&) = delete;
  FactsReader& operator=(const FactsReader&) = delete;

  // Serves one request after the other. A round of the loop begins at most one
  // request and measures only some processes, so that earlier results are
  // delivered first.
  void Read(const core::ReadFacts& request) override;

 private:
  std::string Find(const core::DataKey& key) const;
  std::string AvailableServers() const;
  void Schedule();
  void Serve();
  // Measures the next processes of the first request. Returns true when all are
  // measured.
  bool Measure();
  void ReadValues();

  EventLoop* const loop_;
  InputSink* const sink_;
  const FactsOptions options_;
  std::deque<core::ReadFacts> waiting_;  // the first is being served
  core::FactsRead read_;                 // results so far for the first request
  bool begun_ = false;
  uint64_t served_round_ = UINT64_MAX;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_FACTS_READER_H_
