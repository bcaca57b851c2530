#include "server/shim/stage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/preload/archive.h"
#include "common/preload/preload_list.h"
#include "common/status.h"

namespace canopy::process {
namespace {

constexpr size_t kPiece = size_t{64} << 10;

int Fail(const Status& status) {
  fprintf(stderr, "%s\n", status.message().c_str());
  switch (status.code()) {
    case kErrJobExeNotFound:
      return 127;
    case kErrJobAppNotExecutable:
      return 126;
    default:
      return 1;
  }
}

bool WriteAll(std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(STDOUT_FILENO, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Closes the pipe of standard input, because all ranks of the job receive the
// archive, and a rank that kept its pipe open without reading would block the
// others.
void LeaveInput() {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  close(null);
}

int Read(std::vector<preload::Item> items) {
  LeaveInput();
  preload::ArchiveSource source(std::move(items));
  if (Status s = source.Check(); !s.ok()) return Fail(s);
  for (;;) {
    const Result<std::string> piece = source.Next(kPiece);
    if (!piece.ok()) return Fail(piece.status());
    if (piece->empty()) return 0;
    if (!WriteAll(*piece)) return 1;
  }
}

int Write() {
  const char* const directory = getenv(preload::kJobDirectoryVariable);
  if (directory == nullptr) {
    return Fail(Status(kError, "the job has no directory on this node"));
  }
  preload::Unpacker unpacker(directory);
  std::string buffer(kPiece, '\0');
  bool told = false;
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::string_view data(buffer.data(), static_cast<size_t>(n));
    if (Status s = unpacker.Take(data); !s.ok()) return Fail(s);
    if (!unpacker.done() || std::exchange(told, true)) continue;
    if (!WriteAll("written\n")) return 1;
  }
  if (unpacker.done()) return 0;
  return Fail(Status(kError, "the files ended too early"));
}

}  // namespace

int RunStage(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args == std::vector<std::string>{preload::kStageWrite}) return Write();
  if (args.empty() || args[0] != preload::kStageRead || args.size() % 4 != 1) {
    return Fail(Status(kErrBadParam, "is started by canopyd, not by hand"));
  }
  std::vector<preload::Item> items;
  for (size_t i = 1; i < args.size(); i += 4) {
    items.push_back({args[i], args[i + 1], args[i + 2], args[i + 3]});
  }
  return Read(std::move(items));
}

}  // namespace canopy::process
