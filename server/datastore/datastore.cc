#include "server/datastore/datastore.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/codec/decoder.h"
#include "common/posix/remove_tree.h"
#include "common/preload/preload_list.h"

namespace canopy::datastore {
namespace {

// The limit of files that are removed in one call. There is a limit because the
// loop waits while a job's directory is removed.
constexpr uint64_t kMaxFilesRemoved = 20000;
// The limit of directories whose removal is retried.
constexpr size_t kMaxLeft = 1024;

// Returns false if the bytes are not a sequence of KVALs.
bool SplitKvals(std::string_view bytes, std::vector<shm::TableItem>* items) {
  Decoder decoder(bytes);
  while (!decoder.AtEnd() && decoder.ok()) {
    KvalView kval;
    if (!decoder.GetKval(&kval)) return false;
    items->push_back({kval.key, kval.value, 0});
  }
  return decoder.ok();
}

constexpr int kOpenDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status Failed(const std::string& what) {
  return Status(kErrNoPermissions, what + ": " + std::strerror(errno));
}

// Returns true if a predecessor has created the directory for this user.
bool IsLeftFor(const FileUser& user, int directory) {
  struct stat info;
  return fstat(directory, &info) == 0 && (info.st_mode & 0777) == 0700 &&
         (info.st_uid == geteuid() || info.st_uid == user.uid);
}

// Gives the new directory `name` to `user`, or removes it if that fails. No
// other user can change its parent directory.
Status GiveTo(const FileUser& user, int parent, const std::string& name) {
  const UniqueFd made(openat(parent, name.c_str(), kOpenDirectory));
  if (made &&
      fchownat(made.get(), "", user.uid, user.gid, AT_EMPTY_PATH) == 0) {
    return Status();
  }
  Status failed = Failed("cannot give it to its user");
  unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  return failed;
}

// Returns the user of a job's directory. Only root creates a directory for
// another user.
FileUser UserOf(const JobSpec& spec) {
  if (IsPrivileged()) return {spec.uid, spec.gid};
  return {geteuid(), getegid()};
}

}  // namespace

Datastore::Datastore(DatastoreOptions options) : options_(std::move(options)) {
  const std::string& path = options_.facts.tmpdir;
  if (!options_.directory && !path.empty()) {
    options_.directory = UniqueFd(open(path.c_str(), kOpenDirectory));
  }
}

Datastore::~Datastore() {
  while (!jobs_.empty()) DropJob(std::string(jobs_.begin()->first));
  RemoveLeft();
}

void Datastore::LogError(std::string text) {
  if (options_.log) {
    options_.log({core::LogLine::Level::kError, std::move(text)});
  }
}

Datastore::Job* Datastore::FindJob(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

Status Datastore::AddJob(const core::RegisterJob& registration) {
  const JobSpec& spec = *registration.job;
  if (jobs_.contains(spec.nspace)) {
    return Status(kErrExists, "job " + spec.nspace + " exists already");
  }
  shm::SegmentContents contents =
      MakeContents(spec, *registration.layout, FactsFor(spec));
  if (options_.amend) options_.amend(spec.nspace, &contents);
  auto writer = shm::SegmentWriter::Create(contents, options_.limits);
  if (!writer.ok()) return writer.status();
  Job& job = jobs_[spec.nspace];
  job.writer = std::move(*writer);
  if (!IsElsewhere(spec)) MakeJobDirectory(registration, &job);
  return Status();
}

NodeFacts Datastore::FactsFor(const JobSpec& job) const {
  NodeFacts facts = options_.facts;
  if (IsElsewhere(job)) facts.tmpdir = "/tmp";
  return facts;
}

FileUser Datastore::MakerOf(const JobPlace& place) const {
  if (options_.directory_is_users) return place.user;
  return {geteuid(), getegid()};
}

Status Datastore::MakeDirectory(const JobPlace& place) const {
  const int parent = options_.directory.get();
  Status made;
  const Status run = RunAsUser(MakerOf(place), [&] {
    if (mkdirat(parent, place.name.c_str(), 0700) == 0) {
      const bool is_users = options_.directory_is_users || !IsPrivileged();
      if (!is_users) made = GiveTo(place.user, parent, place.name);
      return;
    }
    const bool is_there = errno == EEXIST;
    made = Failed("cannot make it");
    if (!takes_over_ || !is_there) return;
    const UniqueFd there(openat(parent, place.name.c_str(), kOpenDirectory));
    if (there && IsLeftFor(place.user, there.get())) made = Status();
  });
  return run.ok() ? made : run;
}

void Datastore::MakeJobDirectory(const core::RegisterJob& registration,
                                 Job* job) {
  const JobSpec& spec = *registration.job;
  const uint32_t node = registration.layout->node_of_agent(options_.facts.self);
  if (node == kNoNode || options_.facts.tmpdir.empty()) return;
  const JobPlace place = {JobDirectoryName(spec.nspace), UserOf(spec)};
  const Status made = MakeDirectory(place);
  if (!made.ok()) {
    return LogError("job " + spec.nspace + ": directory " + PathOf(place.name) +
                    ": " + made.message());
  }
  job->place = place;
  AdoptPreloaded(spec.nspace, place);
}

UniqueFd Datastore::Open(const JobPlace& place) const {
  UniqueFd fd;
  (void)RunAsUser(MakerOf(place), [&] {
    fd = UniqueFd(
        openat(options_.directory.get(), place.name.c_str(), kOpenDirectory));
  });
  return fd;
}

// Moves the files that a staging job has copied into the directory of this job.
// The staging job exists until this job is prepared on all nodes.
void Datastore::AdoptPreloaded(const std::string& nspace,
                               const JobPlace& place) {
  const UniqueFd from =
      Open({JobDirectoryName(preload::StagingNspace(nspace)), place.user});
  if (!from) return;
  const UniqueFd to = Open(place);
  Status moved;
  const Status run = RunAsUser(place.user, [&] {
    for (const char* name : {preload::kFiles, preload::kPrograms}) {
      if (renameat(from.get(), name, to.get(), name) != 0 && errno != ENOENT) {
        moved = Failed(std::string("cannot move ") + name);
      }
    }
  });
  for (const Status& status : {run, moved}) {
    if (status.ok()) continue;
    LogError("job " + nspace + ": its preloaded files: " + status.message());
  }
}

// Uses the user's rights, because the content of a job's directory belongs to
// the user. An existing entry is left unchanged.
void Datastore::MakeRankDirectory(const ProcId& proc) {
  Job* job = FindJob(proc.nspace);
  if (job == nullptr || job->place.name.empty() ||
      !job->directories.insert(proc.rank).second) {
    return;
  }
  const UniqueFd parent = Open(job->place);
  const std::string name = std::to_string(proc.rank);
  Status made;
  const Status run = RunAsUser(job->place.user, [&] {
    if (mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
      made = Failed("cannot make it");
    }
  });
  for (const Status& status : {run, made}) {
    if (status.ok()) continue;
    LogError("directory of " + ToString(proc) + ": " + status.message());
  }
}

void Datastore::DropJob(const std::string& nspace) {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return;
  const JobPlace place = it->second.place;
  jobs_.erase(it);
  RemoveLeft();
  if (!place.name.empty()) RemoveDirectory(nspace, place);
}

void Datastore::RemoveForgotten(const std::string& nspace) {
  if (options_.facts.tmpdir.empty() || jobs_.contains(nspace)) return;
  RemoveDirectory(nspace, {JobDirectoryName(nspace), {geteuid(), getegid()}});
}

void Datastore::RemoveDirectory(const std::string& nspace,
                                const JobPlace& place) {
  const Status status = Remove(place);
  if (status.ok()) return;
  LogError("job " + nspace +
           ": its directory is not gone: " + status.message());
  if (left_.size() < kMaxLeft) left_.push_back(place);
}

Status Datastore::Remove(const JobPlace& place) const {
  Status removed;
  const Status run = RunAsUser(MakerOf(place), [&] {
    removed =
        RemoveTreeAt(options_.directory.get(), place.name, kMaxFilesRemoved);
  });
  return run.ok() ? removed : run;
}

// Retries the removals that have failed. A removal that failed for lack of a
// descriptor may succeed now.
void Datastore::RemoveLeft() {
  std::erase_if(left_,
                [this](const JobPlace& place) { return Remove(place).ok(); });
}

Status Datastore::Write(Job* job, Rank rank, bool whole,
                        std::vector<shm::TableItem> items) {
  auto waiting = job->waiting.extract(rank);
  if (!waiting.empty() && !whole) {
    whole = waiting.mapped().whole;
    auto& kept = waiting.mapped().items;
    for (const shm::TableItem& item : items) {
      kept.insert_or_assign(std::string(item.key),
                            Waiting::Item{std::string(item.value), item.flags});
    }
    items.clear();
    for (const auto& [key, item] : kept) {
      items.push_back({key, item.value, item.flags});
    }
  }
  Status status = whole ? job->writer->Publish(rank, items)
                        : job->writer->Update(rank, items);
  if (status.ok()) return status;
  Waiting still{whole, {}};
  for (const shm::TableItem& item : items) {
    still.items.try_emplace(std::string(item.key),
                            Waiting::Item{std::string(item.value), item.flags});
  }
  job->waiting[rank] = std::move(still);
  return status;
}

Status Datastore::Publish(const core::PublishRank& data) {
  Job* job = FindJob(data.proc.nspace);
  if (job == nullptr) return Status(kErrNotFound, "the job has no segment");
  std::vector<shm::TableItem> items;
  if (!SplitKvals(data.visible.view(), &items)) {
    LogError("committed data of " + ToString(data.proc) + " is malformed");
    return Status(kErrUnpackFailure, "malformed data");
  }
  const size_t visible = items.size();
  for (const std::string& key : data.outside) {
    items.push_back({key, {}, shm::kEntryOutsideScope});
  }
  const bool all_fitted = job->waiting.empty();
  Status status = Write(job, data.proc.rank, !data.only_changes, items);
  TellOfRoom(data.proc, all_fitted, status, job);
  if (status.ok()) job->writer->SetVersion(data.proc.rank, data.version);
  if (!status.ok() || !job->indexed) return status;
  for (size_t i = 0; i < visible; ++i) {
    job->owners.insert_or_assign(std::string(items[i].key), data.proc.rank);
  }
  return status;
}

void Datastore::TellOfRoom(const ProcId& proc, bool all_fitted,
                           const Status& status, Job* job) {
  if (!status.ok() && all_fitted) {
    LogError("data of " + ToString(proc) + ": " + status.message());
  }
  if (job->scarce || !job->writer->IsScarce()) return;
  job->scarce = true;
  if (options_.on_scarce) options_.on_scarce(proc.nspace);
}

std::optional<Datastore::Segment> Datastore::Find(
    const std::string& nspace) const {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return std::nullopt;
  const auto& writer = it->second.writer;
  return Segment{writer->fd(), writer->size(), writer};
}

bool Datastore::Holds(const ProcId& proc) const {
  const auto it = jobs_.find(proc.nspace);
  return it != jobs_.end() && !it->second.waiting.contains(proc.rank);
}

void Datastore::SetPid(const std::string& nspace, Rank rank, int pid) {
  if (Job* job = FindJob(nspace)) {
    job->writer->SetPid(rank, static_cast<uint32_t>(pid));
  }
}

void Datastore::SetIncarnation(const ProcId& proc, uint32_t incarnation) {
  if (Job* job = FindJob(proc.nspace)) {
    job->writer->SetReincarnation(proc.rank, incarnation);
  }
}

const shm::SegmentReader* Datastore::Reader(Job* job) {
  if (job->reader == nullptr) {
    auto reader =
        shm::SegmentReader::Map(job->writer->fd(), job->writer->size());
    if (!reader.ok()) return nullptr;
    job->reader = std::move(*reader);
  }
  return job->reader.get();
}

const shm::SegmentReader* Datastore::FindReader(const std::string& nspace) {
  Job* job = FindJob(nspace);
  return job == nullptr ? nullptr : Reader(job);
}

std::optional<std::string> Datastore::FindJobKey(const std::string& nspace,
                                                 std::string_view key) {
  const shm::SegmentReader* reader = FindReader(nspace);
  if (reader == nullptr) return std::nullopt;
  const auto value = reader->FindJob(key);
  if (!value) return std::nullopt;
  return std::string(*value);
}

void Datastore::Index(Job* job) {
  const shm::SegmentReader* reader = Reader(job);
  if (reader == nullptr) return;
  for (Rank rank = 0; rank < reader->num_ranks(); ++rank) {
    if (reader->Stamp(rank) == 0) continue;
    reader->ForEachProcKey(rank, [&](std::string_view key, std::string_view) {
      job->owners.insert_or_assign(std::string(key), rank);
    });
  }
  job->indexed = true;
}

std::optional<std::string> Datastore::FindKey(const std::string& nspace,
                                              std::string_view key) {
  Job* job = FindJob(nspace);
  const shm::SegmentReader* reader = job == nullptr ? nullptr : Reader(job);
  if (reader == nullptr) return std::nullopt;
  if (!job->indexed) Index(job);
  const auto it = job->owners.find(std::string(key));
  if (it == job->owners.end()) return std::nullopt;
  const shm::Lookup lookup = reader->FindProc(it->second, key);
  if (!lookup.found()) return std::nullopt;
  return std::string(lookup.value());
}

}  // namespace canopy::datastore
