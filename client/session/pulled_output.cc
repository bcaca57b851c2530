#include "client/session/pulled_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "common/string_util.h"

namespace canopy::client {
namespace {

constexpr uint16_t kStdout = 2;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;

bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t n = write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Makes the directories above the file.
void MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos;
       at = path.find('/', at + 1)) {
    (void)mkdir(path.substr(0, at).c_str(), kDirectoryMode);
  }
}

}  // namespace

PulledOutput::PulledOutput(PulledOutputOptions options, OutputReceiver receiver)
    : options_(std::move(options)), receiver_(std::move(receiver)) {}

PulledOutput::~PulledOutput() {
  for (const auto& [stream, fd] : files_) {
    if (fd >= 0) close(fd);
  }
}

PulledOutput::State& PulledOutput::Of(const Stream& stream) {
  const auto known = streams_.find(stream);
  if (known != streams_.end()) return known->second;
  OutputFormat format = options_.format;
  // A callback gets the bytes unchanged, unless they are to be marked.
  if (receiver_ && !format.marks()) format.raw = true;
  return streams_
      .emplace(stream,
               State{OutputFormatter(format, stream.first, stream.second), {}})
      .first->second;
}

void PulledOutput::Add(const ProcId& source, uint16_t channel,
                       std::string_view data) {
  const Stream stream{source, channel};
  State& state = Of(stream);
  if (data.empty()) {
    Give(stream, &state, state.formatter.Flush(), true);
  } else {
    Give(stream, &state, state.formatter.Add(data), false);
  }
}

void PulledOutput::Flush() {
  for (auto& [stream, state] : streams_) {
    Give(stream, &state, state.formatter.Flush(), false);
    if (state.held.empty()) continue;
    const std::string held = std::exchange(state.held, {});
    receiver_(stream.first, stream.second, held, false);
  }
}

bool PulledOutput::holds() const {
  return std::ranges::any_of(
      streams_, [](const auto& entry) { return !entry.second.held.empty(); });
}

void PulledOutput::Release() {
  for (auto& [stream, state] : streams_) {
    if (state.held.empty()) continue;
    const std::string held = std::exchange(state.held, {});
    receiver_(stream.first, stream.second, held, false);
  }
}

size_t PulledOutput::Enough() const {
  constexpr size_t kMost = size_t{1} << 20;
  if (options_.buffering_size > 0) return options_.buffering_size;
  return options_.buffering_time_s > 0 ? kMost : 0;
}

void PulledOutput::Give(const Stream& stream, State* state, std::string data,
                        bool closed) {
  if (options_.to_files()) WriteFile(stream, data);
  if (!receiver_) {
    const bool error = stream.second != kStdout && !options_.merge;
    if (options_.to_files() && options_.only_files) return;
    (void)WriteAll(error ? options_.stderr_fd : options_.stdout_fd, data);
    return;
  }
  state->held += data;
  if (!closed && state->held.size() < Enough()) return;
  if (!closed && state->held.empty()) return;
  const std::string held = std::exchange(state->held, {});
  receiver_(stream.first, stream.second, held, closed);
}

// ----------------------------------------------------------------- files ---

void PulledOutput::WriteFile(const Stream& stream, std::string_view data) {
  if (data.empty()) return;
  const Stream to{stream.first, options_.merge ? kStdout : stream.second};
  const auto known = files_.find(to);
  const int fd = known != files_.end() ? known->second : OpenFile(to);
  if (fd < 0 || WriteAll(fd, data)) return;
  close(fd);
  files_[to] = -1;
}

int PulledOutput::OpenFile(const Stream& stream) {
  const std::string path = PathOf(stream);
  MakeDirectories(path);
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY,
           kFileMode);
  files_[stream] = fd;
  return fd;
}

std::string PulledOutput::PathOf(const Stream& stream) const {
  const auto& [source, channel] = stream;
  const std::string rank = std::to_string(source.rank);
  const std::string name = ChannelName(channel);
  if (options_.file.empty()) {
    return options_.directory + "/" + source.nspace + "/rank." + rank + "/" +
           name;
  }
  if (!options_.pattern) {
    return options_.file + "." + source.nspace + "." + rank + "." + name;
  }
  std::string path = options_.file;
  ReplaceAll(&path, "%n", source.nspace);
  ReplaceAll(&path, "%r", rank);
  return path + "." + name;
}

}  // namespace canopy::client
