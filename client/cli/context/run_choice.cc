#include "client/cli/context/run_choice.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "common/text.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxCommand = 60;
constexpr size_t kMaxListed = 10;

using Indices = std::vector<size_t>;

template <typename Predicate>
Indices Filtered(const Indices& from, Predicate is_wanted) {
  Indices found;
  for (const size_t i : from) {
    if (is_wanted(i)) found.push_back(i);
  }
  return found;
}

// Returns the run as text, for example "run-4711 (./app 5, in /home/joe)".
std::string TextOf(const v1::Context& run) {
  std::string text = run.launcher().command();
  if (!run.launcher().directory().empty()) {
    if (!text.empty()) text += ", ";
    text += "in " + Printable(run.launcher().directory());
  }
  return run.name() + (text.empty() ? "" : " (" + text + ")");
}

Status Ambiguous(std::span<const v1::Context> runs, const Indices& left) {
  std::string list;
  for (size_t i = 0; i < left.size() && i < kMaxListed; ++i) {
    list += (i == 0 ? "" : ", ") + TextOf(runs[left[i]]);
  }
  if (left.size() > kMaxListed) {
    list += " and " + std::to_string(left.size() - kMaxListed) + " more";
  }
  return Status(kErrBadParam, "several 'canopy run' are running: " + list +
                                  "; name one with --context");
}

}  // namespace

CommandPlace PlaceHere() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::current_path(error);
  return {getsid(0), error ? std::string() : path.string()};
}

v1::Launcher DescribeLauncher(const std::string& command) {
  const CommandPlace here = PlaceHere();
  v1::Launcher launcher;
  launcher.set_pid(getpid());
  launcher.set_session(here.session);
  launcher.set_directory(here.directory);
  const bool is_long = command.size() > kMaxCommand;
  launcher.set_command(
      Printable(is_long ? command.substr(0, kMaxCommand) + "..." : command));
  return launcher;
}

Result<size_t> ChooseRun(std::span<const v1::Context> runs,
                         const CommandPlace& here) {
  Indices left;
  for (size_t i = 0; i < runs.size(); ++i) left.push_back(i);
  const Indices in_session = Filtered(left, [&](size_t i) {
    return runs[i].launcher().session() == here.session;
  });
  if (!in_session.empty()) left = in_session;
  const Indices in_directory = Filtered(left, [&](size_t i) {
    return !here.directory.empty() &&
           runs[i].launcher().directory() == here.directory;
  });
  if (left.size() > 1 && !in_directory.empty()) left = in_directory;
  if (left.size() == 1) return left[0];
  return Ambiguous(runs, left);
}

}  // namespace canopy::cli
