#include "server/agent/persistence/report_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "server/agent/persistence/private_file.h"

namespace canopy::agent {
namespace {

enum class Kind : uint32_t {
  kSeries = 1,
  kReserved = 2,
  kRecord = 3,
  kRemoved = 4,  // all records up to the number
  kLost = 5,     // one record; `bytes` is the number of lost ones
  kRelease = 6,
  kReleased = 7,  // one release
  kCommand = 8,
};

struct Head {
  Kind kind;
  uint32_t size;  // of the bytes that follow
  uint64_t number;
};

std::string Entry(Kind kind, uint64_t number, std::string_view bytes = "") {
  const Head head{kind, static_cast<uint32_t>(bytes.size()), number};
  std::string entry(sizeof head, '\0');
  std::memcpy(entry.data(), &head, sizeof head);
  return entry.append(bytes);
}

std::string LostEntry(uint64_t number, uint64_t lost) {
  char bytes[sizeof lost];
  std::memcpy(bytes, &lost, sizeof lost);
  return Entry(Kind::kLost, number, {bytes, sizeof bytes});
}

// Applies entries in order and collects the result.
class Reader {
 public:
  void Take(const Head& head, std::string_view bytes) {
    switch (head.kind) {
      case Kind::kSeries:
        series_ = head.number;
        break;
      case Kind::kReserved:
        reserved_ = std::max(reserved_, head.number);
        break;
      case Kind::kRecord:
        reserved_ = std::max(reserved_, head.number);
        records_[head.number] = bytes;
        break;
      case Kind::kRemoved:
        records_.erase(records_.begin(), records_.upper_bound(head.number));
        break;
      case Kind::kLost:
        records_.erase(head.number);
        if (bytes.size() == sizeof lost_) {
          std::memcpy(&lost_, bytes.data(), sizeof lost_);
        }
        break;
      case Kind::kRelease:
        releases_[head.number] = bytes;
        break;
      case Kind::kReleased:
        releases_.erase(head.number);
        break;
      case Kind::kCommand:
        commands_.emplace_back(bytes);
        if (commands_.size() > scheduler::ReportStore::kCommands) {
          commands_.pop_front();
        }
        break;
    }  // kinds of a later version are skipped
  }
  scheduler::StoredReports Result() && {
    return {series_,
            reserved_,
            lost_,
            {records_.begin(), records_.end()},
            {releases_.begin(), releases_.end()},
            {commands_.begin(), commands_.end()}};
  }

 private:
  uint64_t series_ = 0;
  uint64_t reserved_ = 0;
  uint64_t lost_ = 0;
  std::map<uint64_t, std::string> records_;
  std::map<uint64_t, std::string> releases_;
  std::deque<std::string> commands_;
};

}  // namespace

ReportLog::ReportLog(const std::string& directory)
    : path_(directory + "/reports.log") {}

size_t ReportLog::Parse(std::string_view content,
                        scheduler::StoredReports* stored) {
  Reader reader;
  size_t at = 0;
  while (content.size() - at >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, content.data() + at, sizeof head);
    const std::string_view rest = content.substr(at + sizeof head);
    if (rest.size() < head.size) break;
    reader.Take(head, rest.substr(0, head.size));
    at += sizeof head + head.size;
  }
  *stored = std::move(reader).Result();
  return at;
}

scheduler::StoredReports ReportLog::Load() {
  scheduler::StoredReports stored;
  UniqueFd fd(open(path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return stored;
  size_ = base_ = Parse(ReadPrivate(fd.get()).value_or(""), &stored);
  // The next entry must not follow an incomplete one.
  if (stored.series == 0 ||
      ftruncate(fd.get(), static_cast<off_t>(size_)) != 0) {
    return {};
  }
  fd_ = std::move(fd);
  return stored;
}

Status ReportLog::Begin(uint64_t series) {
  unlink(path_.c_str());
  size_ = base_ = 0;
  fd_.Reset(open(path_.c_str(),
                 O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 0600));
  return fd_ ? Append(Entry(Kind::kSeries, series)) : CannotWrite(path_);
}

Status ReportLog::Reserve(uint64_t number) {
  return Append(Entry(Kind::kReserved, number));
}

Status ReportLog::Add(uint64_t number, std::string_view record) {
  return Append(Entry(Kind::kRecord, number, record));
}

Status ReportLog::Remove(uint64_t number) {
  return Append(Entry(Kind::kRemoved, number));
}

Status ReportLog::Lose(uint64_t number, uint64_t lost) {
  return Append(LostEntry(number, lost));
}

Status ReportLog::AddRelease(uint64_t number, std::string_view release) {
  return Append(Entry(Kind::kRelease, number, release));
}

Status ReportLog::RemoveRelease(uint64_t number) {
  return Append(Entry(Kind::kReleased, number));
}

Status ReportLog::AddCommand(std::string_view command) {
  return Append(Entry(Kind::kCommand, 0, command));
}

Status ReportLog::Append(const std::string& entry) {
  if (!fd_) return {kErrJobSysOpFailed, path_ + " could not be made"};
  if (!WriteAll(fd_.get(), entry)) {
    Status failed = CannotWrite(path_);
    // The next entry must not follow an incomplete one.
    if (ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fd_.Reset();
    return failed;
  }
  size_ += entry.size();
  return size_ > 2 * base_ + kSlack ? Compact() : Status();
}

// Writes a new file, so that a complete log exists at every moment.
Status ReportLog::Compact() {
  scheduler::StoredReports stored;
  Parse(ReadPrivate(fd_.get()).value_or(""), &stored);
  std::string text = Entry(Kind::kSeries, stored.series) +
                     Entry(Kind::kReserved, stored.reserved) +
                     LostEntry(0, stored.lost);
  for (const auto& [number, bytes] : stored.records) {
    text += Entry(Kind::kRecord, number, bytes);
  }
  for (const auto& [number, bytes] : stored.releases) {
    text += Entry(Kind::kRelease, number, bytes);
  }
  for (const std::string& command : stored.commands) {
    text += Entry(Kind::kCommand, 0, command);
  }
  const std::string fresh = path_ + ".new";
  unlink(fresh.c_str());
  UniqueFd fd(open(
      fresh.c_str(),
      O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd || !WriteAll(fd.get(), text) ||
      rename(fresh.c_str(), path_.c_str()) != 0) {
    return CannotWrite(fresh);
  }
  fd_ = std::move(fd);
  size_ = base_ = text.size();
  return Status();
}

void ReportLog::Delete() {
  if (fd_) unlink(path_.c_str());
  fd_.Reset();
}

}  // namespace canopy::agent
