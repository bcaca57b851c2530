// A job for tests: two nodes, three ranks, and the segment of the first node.
#ifndef CANOPY_SERVER_OPENPMIX_OPENPMIX_TESTING_H_
#define CANOPY_SERVER_OPENPMIX_OPENPMIX_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/shm/segment_reader.h"
#include "common/shm/segment_writer.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::openpmix {

inline constexpr char kTestJob[] = "nsx";

inline std::shared_ptr<const JobSpec> MakeTestJob(
    const std::string& nspace = kTestJob, uint32_t uid = 1000) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = nspace;
  job->uid = uid;
  job->apps = {{"a.out", {"a.out"}, {}, "", 3}};
  job->nodes = {{"node1", {"alias1"}, 0, 4}, {"node2", {}, 1, 4}};
  job->procs = {{0, 0, ""}, {0, 0, ""}, {1, 0, ""}};
  return job;
}

// The data of a job as its processes on the first node see it.
class TestSegment {
 public:
  explicit TestSegment(const JobSpec& job) {
    const auto size = static_cast<uint32_t>(job.procs.size());
    std::vector<uint16_t> on_node(job.nodes.size());
    shm::SegmentContents contents;
    contents.nspace = job.nspace;
    contents.self_node = 0;
    contents.session = {Pair(PMIX_UNIV_SIZE, Value::Uint32(8)),
                        Pair(PMIX_SESSION_ID, Value::Uint32(5))};
    contents.job = {Pair(PMIX_UNIV_SIZE, Value::Uint32(8)),
                    Pair(PMIX_JOB_SIZE, Value::Uint32(size))};
    if (const StopRanks& stop = job.debug.in_init) {
      std::vector<ProcId> procs;
      for (const Rank rank : *stop) procs.push_back({job.nspace, rank});
      contents.job.push_back(Pair(PMIX_DEBUG_STOP_IN_INIT,
                                  procs.empty() ? Value::Rank(kRankWildcard)
                                                : Value::ProcArray(procs)));
    }
    contents.apps = {{Pair(PMIX_APP_SIZE, Value::Uint32(size))}};
    for (const JobNode& node : job.nodes) {
      contents.nodes.push_back({node.name,
                                node.aliases,
                                EncodeValue(Value::String(node.name).raw()),
                                {Pair(PMIX_HOSTNAME, Value::String(node.name))},
                                node.agent});
    }
    for (Rank rank = 0; rank < job.procs.size(); ++rank) {
      shm::ProcContents proc;
      proc.node = job.procs[rank].node;
      proc.app_rank = rank;
      proc.global_rank = rank;
      proc.local_rank = on_node[proc.node]++;
      proc.node_rank = proc.local_rank;
      if (proc.node == 0) {
        proc.procdir =
            EncodeValue(Value::String("/run/" + std::to_string(rank)).raw());
      }
      contents.procs.push_back(proc);
    }
    shm::SegmentLimits limits;
    limits.arena_bytes = 1 << 20;
    auto writer = shm::SegmentWriter::Create(contents, limits);
    if (!writer.ok()) return;
    writer_ = std::move(*writer);
    auto reader = shm::SegmentReader::Map(writer_->fd(), writer_->size());
    if (reader.ok()) reader_ = std::move(*reader);
  }

  // Returns null if the segment could not be created.
  const shm::SegmentReader* reader() const { return reader_.get(); }

  // Publishes one key as committed by rank `rank`.
  void Publish(Rank rank, const std::string& key, const Value& value) {
    const std::string encoded = EncodeValue(value.raw());
    (void)writer_->Publish(rank, {{key, encoded}});
  }

 private:
  static std::pair<std::string, std::string> Pair(const char* key,
                                                  const Value& value) {
    return {key, EncodeValue(value.raw())};
  }

  std::unique_ptr<shm::SegmentWriter> writer_;
  std::unique_ptr<shm::SegmentReader> reader_;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_OPENPMIX_TESTING_H_
