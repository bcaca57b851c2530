#include "server/agent/recovery.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "common/codec/encoder.h"
#include "common/shm/segment_reader.h"
#include "server/stock/stock_endpoint.h"

namespace canopy::agent {
namespace {

constexpr char kSegment[] = "segment";
constexpr char kJournal[] = "journal";

process::UniqueFd Copy(int fd) {
  return process::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

// What ranks of other nodes have committed, as far as it was here.
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

Recovery::Recovery(process::ProcessAdapter* process,
                   datastore::Datastore* datastore,
                   std::function<int()> listener,
                   std::function<void(const core::LogLine&)> log)
    : process_(process),
      datastore_(datastore),
      listener_(std::move(listener)),
      log_(std::move(log)) {}

void Recovery::Warn(std::string text) {
  log_({core::LogLine::Level::kWarning, std::move(text)});
}

void Recovery::AddJob(const std::string& nspace) {
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

void Recovery::HoldListener(const std::string& nspace) {
  process_->Hold(nspace, stock::StockEndpoint::kListenerName,
                 Copy(listener_()));
}

void Recovery::HoldSegment(const std::string& nspace) {
  const auto segment = datastore_->Find(nspace);
  if (segment) process_->Hold(nspace, kSegment, Copy(segment->fd));
}

void Recovery::HoldJournal(const std::string& nspace) {
  process_->Hold(nspace, kJournal, Copy(journals_.at(nspace)->fd()));
}

void Recovery::Keep(const core::Remember& record) {
  const auto it = journals_.find(record.nspace);
  if (it == journals_.end()) return;
  bool moved = false;
  const Status status =
      it->second->Keep(record.key, record.value.view(), &moved);
  if (!status.ok()) {
    Warn("job " + record.nspace + ": " + status.message());
    journals_.erase(it);
  } else if (moved) {
    HoldJournal(record.nspace);
  }
}

void Recovery::DropJob(const std::string& nspace) { journals_.erase(nspace); }

core::JobRecovered Recovery::Read(process::RecoveredJob* job) {
  const std::string& nspace = job->job->nspace;
  core::JobRecovered out;
  out.job = job->job;
  out.started = job->started;
  for (process::HeldFd& held : job->held) {
    if (held.name == kSegment) out.published = ReadSegment(held.fd.get());
    if (held.name != kJournal) continue;
    auto journal = Journal::Open(UniqueFd(held.fd.Release()));
    if (!journal.ok()) {
      Warn("job " + nspace + ": " + journal.status().message());
      continue;
    }
    out.records = (*journal)->Records();
    journals_[nspace] = *std::move(journal);
  }
  return out;
}

void Recovery::Adopted(const std::string& nspace) {
  HoldListener(nspace);
  HoldSegment(nspace);
  if (!journals_.contains(nspace)) AddJob(nspace);
}

}  // namespace canopy::agent
