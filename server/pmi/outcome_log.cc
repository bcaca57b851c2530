#include "server/pmi/outcome_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace canopy::pmi {
namespace {

constexpr size_t kMaxBytes = 256 << 10;
// Size of an outcome with the longest name of a job.
constexpr size_t kMaxOutcome = 512;

struct Letter {
  char letter;
  Operation operation;
};

// Agents of other releases use these letters too.
constexpr Letter kLetters[] = {{'s', Operation::kSpawn},
                               {'c', Operation::kConnect},
                               {'d', Operation::kDisconnect}};

std::string LineOf(const Outcome& outcome) {
  const auto* const letter =
      std::ranges::find(kLetters, outcome.operation, &Letter::operation);
  return std::string(1, letter->letter) + ' ' + std::to_string(outcome.number) +
         ' ' + std::to_string(outcome.status) + ' ' + outcome.job + '\n';
}

// Removes a number and the blank after it.
template <typename Number>
bool TakeNumber(std::string_view* line, Number* number) {
  const size_t end = line->find(' ');
  if (end == line->npos) return false;
  const auto read = std::from_chars(line->data(), line->data() + end, *number);
  if (read.ec != std::errc() || read.ptr != line->data() + end) return false;
  line->remove_prefix(end + 1);
  return true;
}

std::optional<Outcome> OutcomeIn(std::string_view line) {
  if (line.size() < 2) return std::nullopt;
  const auto* const letter =
      std::ranges::find(kLetters, line[0], &Letter::letter);
  if (letter == std::end(kLetters) || line[1] != ' ') return std::nullopt;
  line.remove_prefix(2);
  Outcome outcome;
  outcome.operation = letter->operation;
  if (!TakeNumber(&line, &outcome.number) ||
      !TakeNumber(&line, &outcome.status)) {
    return std::nullopt;
  }
  outcome.job = line;
  return outcome;
}

}  // namespace

Result<std::unique_ptr<OutcomeLog>> OutcomeLog::Create() {
  UniqueFd fd(memfd_create("canopy-pmi-outcomes", MFD_CLOEXEC));
  if (!fd) {
    return Status(kErrOutOfResource,
                  std::string("no memory file: ") + std::strerror(errno));
  }
  return std::unique_ptr<OutcomeLog>(new OutcomeLog(std::move(fd)));
}

std::unique_ptr<OutcomeLog> OutcomeLog::Open(UniqueFd fd) {
  std::unique_ptr<OutcomeLog> log(new OutcomeLog(std::move(fd)));
  log->Read();
  return log;
}

void OutcomeLog::Read() {
  std::string bytes(kMaxBytes, 0);
  const ssize_t size = pread(fd_.get(), bytes.data(), bytes.size(), 0);
  std::string_view rest(bytes.data(),
                        static_cast<size_t>(std::max<ssize_t>(size, 0)));
  for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    std::optional<Outcome> outcome = OutcomeIn(rest.substr(0, end));
    if (!outcome) return;
    all_.push_back(*std::move(outcome));
    size_ += end + 1;
    rest.remove_prefix(end + 1);
  }
}

bool OutcomeLog::has_room() const { return size_ + kMaxOutcome <= kMaxBytes; }

void OutcomeLog::Add(const Outcome& outcome) {
  const std::string line = LineOf(outcome);
  (void)!pwrite(fd_.get(), line.data(), line.size(), static_cast<off_t>(size_));
  size_ += line.size();
  all_.push_back(outcome);
}

}  // namespace canopy::pmi
