#include "server/agent/persistence/persistent_state.h"

#include <sys/stat.h>

#include <utility>

#include "common/codec/encoder.h"
#include "common/describe.h"
#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/shm/segment_reader.h"
#include "server/agent/persistence/launch_facts.h"
#include "server/core/step/job_actions.h"
#include "server/openpmix/openpmix_endpoint.h"

namespace canopy::agent {
namespace {

// The time of a launch, in nanoseconds of the machine's clock.
struct LaunchTime {
  int64_t ns = 0;
};

template <typename V>
void Describe(V& v, wire::Is<LaunchTime> auto& m) {
  v.Always(1, m.ns);
}

constexpr char kSegment[] = "segment";
constexpr char kJournal[] = "journal";
// The keys of the records of jobs that this agent controls.
constexpr char kSpec[] = "spec";
constexpr char kToken[] = "token";
constexpr char kSince[] = "since";
constexpr char kFacts[] = "facts";
constexpr char kState[] = "state";
constexpr char kEnd[] = "end";

// Returns the committed data of ranks on other nodes that the segment contains.
std::vector<core::PublishRank> ReadSegment(int fd) {
  std::vector<core::PublishRank> out;
  struct stat info;
  if (fstat(fd, &info) != 0) return out;
  auto reader =
      shm::SegmentReader::Map(fd, static_cast<uint64_t>(info.st_size));
  if (!reader.ok()) return out;
  const shm::SegmentReader& segment = **reader;
  for (Rank rank = 0; rank < segment.num_ranks(); ++rank) {
    if (segment.Stamp(rank) == 0 ||
        segment.NodeOf(rank) == segment.self_node()) {
      continue;
    }
    core::PublishRank data;
    data.proc = {std::string(segment.nspace()), rank};
    data.version = segment.Version(rank);
    Encoder kvals;
    segment.ForEachCommitted(
        rank, [&](std::string_view key, std::string_view value, bool hidden) {
          if (hidden) {
            data.outside.emplace_back(key);
          } else {
            kvals.PutKvalEncoded(key, value);
          }
        });
    data.visible = Bytes(kvals.Take());
    out.push_back(std::move(data));
  }
  return out;
}

}  // namespace

PersistentState::PersistentState(FdStorePort* fd_store,
                                 datastore::Datastore* datastore,
                                 const std::string& directory,
                                 std::function<int()> listener,
                                 std::function<void(const core::LogLine&)> log)
    : fd_store_(fd_store),
      datastore_(datastore),
      listener_(std::move(listener)),
      log_(std::move(log)),
      control_(directory) {}

void PersistentState::Warn(std::string text) {
  log_({core::LogLine::Level::kWarning, std::move(text)});
}

void PersistentState::AddJob(const std::string& nspace) {
  HoldListener(nspace);
  Result<std::unique_ptr<Journal>> journal = Journal::Create();
  if (!journal.ok()) {
    return Warn("job " + nspace +
                " would not survive a restart of this agent: " +
                journal.status().message());
  }
  journals_[nspace] = *std::move(journal);
  HoldJournal(nspace);
  HoldSegment(nspace);
}

void PersistentState::HoldListener(const std::string& nspace) {
  fd_store_->HoldFile(nspace, {openpmix::OpenPmixEndpoint::kListenerName,
                               DuplicateFd(listener_())});
}

void PersistentState::HoldSegment(const std::string& nspace) {
  const auto segment = datastore_->Find(nspace);
  if (segment) {
    fd_store_->HoldFile(nspace, {kSegment, DuplicateFd(segment->fd)});
  }
}

void PersistentState::HoldJournal(const std::string& nspace) {
  fd_store_->HoldFile(nspace,
                      {kJournal, DuplicateFd(journals_.at(nspace)->fd())});
}

void PersistentState::Persist(const core::PersistRecord& record) {
  const auto it = journals_.find(record.nspace);
  if (it == journals_.end()) return;
  bool moved = false;
  const Status status =
      it->second->Persist(record.key, record.value.view(), &moved);
  if (!status.ok()) {
    Warn("job " + record.nspace + ": " + status.message());
    journals_.erase(it);
  } else if (moved) {
    HoldJournal(record.nspace);
  }
}

Status PersistentState::PersistLaunch(const JobSpec& job,
                                      const std::string& token,
                                      const control::LaunchFacts& facts) {
  Status status = control_.Persist(job.nspace, kSpec, EncodeJobSpec(job));
  if (status.ok()) status = control_.Persist(job.nspace, kToken, token);
  if (status.ok()) {
    status = control_.Persist(job.nspace, kSince,
                              wire::Encode(LaunchTime{EventLoop::Now()}));
  }
  if (status.ok()) {
    status = control_.Persist(job.nspace, kFacts, EncodeFacts(facts));
  }
  if (!status.ok()) {
    control_.Drop(job.nspace);
    status = Status(status.code(), "job " + job.nspace +
                                       " would end with a restart of the "
                                       "agent that controls it: " +
                                       status.message());
    Warn(status.message());
  }
  return status;
}

void PersistentState::Persist(const core::PersistControlState& record) {
  if (!control_.Has(record.nspace)) return;
  const Status status =
      control_.Persist(record.nspace, kState, record.state.view());
  if (!status.ok()) Warn("job " + record.nspace + ": " + status.message());
}

void PersistentState::PersistFacts(const std::string& nspace,
                                   const control::LaunchFacts& facts) {
  if (!control_.Has(nspace)) return;
  const Status status = control_.Persist(nspace, kFacts, EncodeFacts(facts));
  if (!status.ok()) Warn("job " + nspace + ": " + status.message());
}

void PersistentState::PersistOutput(const std::string& nspace,
                                    const std::string& state) {
  if (!control_.Has(nspace)) return;
  const Status status = control_.Replace(nspace, state);
  if (!status.ok()) Warn("job " + nspace + ": " + status.message());
}

void PersistentState::PersistEnd(const std::string& nspace,
                                 const std::string& end) {
  const Status status = control_.Persist(nspace, kEnd, end);
  if (!status.ok()) Warn("job " + nspace + ": " + status.message());
}

void PersistentState::DropControl(const std::string& nspace) {
  control_.Drop(nspace);
}

std::vector<ControlledJob> PersistentState::FindControlled() {
  std::vector<ControlledJob> out;
  for (auto& [nspace, values] : control_.Load()) {
    Result<JobSpec> spec = DecodeJobSpec(values[kSpec]);
    ControlledJob job;
    job.persisted.token = values[kToken];
    LaunchTime since;
    const bool launched =
        !values[kSince].empty() && wire::Decode(values[kSince], &since);
    job.persisted.since = since.ns;
    job.persisted.facts = DecodeFacts(values[kFacts]);
    // If one of these records is missing, the predecessor died before it had
    // recorded the whole launch, and the launcher was not notified of the job.
    if (!spec.ok() || spec->nspace != nspace || job.persisted.token.empty() ||
        !launched) {
      control_.Drop(nspace);
      continue;
    }
    job.persisted.job = std::make_shared<const JobSpec>(std::move(*spec));
    job.state = Bytes(values[kState]);
    if (values.contains(kEnd)) job.persisted.end = values[kEnd];
    job.persisted.output = control_.Replaced(nspace);
    out.push_back(std::move(job));
  }
  return out;
}

void PersistentState::DropJob(const std::string& nspace) {
  journals_.erase(nspace);
}

core::JobRecovered PersistentState::Read(process::RecoveredJob* job) {
  const std::string& nspace = job->job->nspace;
  core::JobRecovered out;
  out.job = job->job;
  out.started = job->started;
  for (const process::RankState& rank : job->ranks) {
    if (rank.incarnation == 0) continue;
    out.incarnations.emplace_back(rank.rank, rank.incarnation);
  }
  for (NamedFd& held : job->held) {
    if (held.name == kSegment) out.published = ReadSegment(held.fd.get());
    if (held.name != kJournal) continue;
    auto journal = Journal::Open(std::move(held.fd));
    if (!journal.ok()) {
      Warn("job " + nspace + ": " + journal.status().message());
      continue;
    }
    out.records = (*journal)->Records();
    journals_[nspace] = *std::move(journal);
  }
  return out;
}

void PersistentState::OnRecovered(const std::string& nspace) {
  HoldListener(nspace);
  HoldSegment(nspace);
  if (!journals_.contains(nspace)) return AddJob(nspace);
  // The journal may now be in another file than the predecessor's.
  HoldJournal(nspace);
}

}  // namespace canopy::agent
