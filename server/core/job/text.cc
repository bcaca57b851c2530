#include "server/core/job/text.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdint>

namespace canopy::core {
namespace {

constexpr size_t kMaxLine = 512;
constexpr size_t kMaxRuns = 4;

struct SignalName {
  int signal;
  std::string_view name;
};

// The names of signals. strsignal is not used, because it depends on the locale
// and is not thread-safe.
constexpr SignalName kSignals[] = {
    {SIGHUP, "Hangup"},
    {SIGINT, "Interrupt"},
    {SIGQUIT, "Quit"},
    {SIGILL, "Illegal instruction"},
    {SIGTRAP, "Trace/breakpoint trap"},
    {SIGABRT, "Aborted"},
    {SIGBUS, "Bus error"},
    {SIGFPE, "Floating point exception"},
    {SIGKILL, "Killed"},
    {SIGUSR1, "User defined signal 1"},
    {SIGSEGV, "Segmentation fault"},
    {SIGUSR2, "User defined signal 2"},
    {SIGPIPE, "Broken pipe"},
    {SIGALRM, "Alarm clock"},
    {SIGTERM, "Terminated"},
    {SIGXCPU, "CPU time limit exceeded"},
    {SIGXFSZ, "File size limit exceeded"},
    {SIGSYS, "Bad system call"},
};

std::string RankOnNode(const JobSpec& job, Rank rank) {
  return "rank " + std::to_string(rank) + " on " +
         job.nodes[job.procs[rank].node].name;
}

}  // namespace

int ExitCodeOf(const ProcExit& exit) {
  if (exit.wait_status == kNeverStarted) return 0;
  if (WIFSIGNALED(exit.wait_status)) return 128 + WTERMSIG(exit.wait_status);
  return WEXITSTATUS(exit.wait_status);
}

bool IsAbnormal(const ProcExit& exit) {
  if (exit.wait_status == kNeverStarted) return false;
  return exit.wait_status != 0 || (exit.called_init && !exit.finalized);
}

std::string DescribeSignal(int signal) {
  std::string text = "signal " + std::to_string(signal);
  for (const SignalName& known : kSignals) {
    if (known.signal == signal) {
      return text + " (" + std::string(known.name) + ")";
    }
  }
  return text;
}

std::string DescribeExit(const JobSpec& job, const ProcExit& exit) {
  const std::string who = RankOnNode(job, exit.rank);
  if (exit.wait_status == kNeverStarted) return who + " was never started";
  if (WIFSIGNALED(exit.wait_status)) {
    return who + " was killed by " +
           DescribeSignal(WTERMSIG(exit.wait_status)) +
           (exit.core_dumped ? ", core dumped" : "");
  }
  const int code = WEXITSTATUS(exit.wait_status);
  if (code == 0 && IsAbnormal(exit)) {
    return who + " ended without calling finalize after it had initialized";
  }
  return who + " exited with code " + std::to_string(code);
}

std::string DescribeRanks(std::span<const Rank> ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  size_t runs = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (runs == kMaxRuns) {
      return out + " and " + std::to_string(ranks.size() - i) + " more";
    }
    if (runs++ > 0) out += ",";
    out += std::to_string(ranks[i]);
    if (end - i > 1) out += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return out;
}

std::string Plural(size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::string DescribeNodeError(const NodeError& error,
                              std::string_view node_name, size_t others) {
  std::string text = OneLine(error.text);
  if (text.empty()) text = "failed with status " + std::to_string(error.status);
  if (text.find(node_name) == std::string::npos) {
    text = std::string(node_name) + ": " + text;
  }
  if (others > 0) {
    text += " (and " + std::to_string(others) + " more " +
            (others == 1 ? "node" : "nodes") + " with errors)";
  }
  return text;
}

std::string OneLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.remove_suffix(1);
  }
  std::string out(text.substr(0, kMaxLine));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (text.size() > kMaxLine) out += "...";
  return out;
}

}  // namespace canopy::core
