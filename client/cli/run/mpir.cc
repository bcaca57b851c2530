#include "client/cli/run/mpir.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/program_output.h"
#include "client/cli/base/this_machine.h"
#include "common/posix/start_thread.h"
#include "common/string_util.h"

// Debuggers find these symbols by name.
extern "C" {

struct MPIR_PROCDESC {
  char* host_name;
  char* executable_name;
  int pid;
};

#define CANOPY_MPIR __attribute__((used, retain, visibility("default")))

CANOPY_MPIR MPIR_PROCDESC* MPIR_proctable = nullptr;
CANOPY_MPIR int MPIR_proctable_size = 0;
// The debugger sets this variable.
CANOPY_MPIR volatile int MPIR_being_debugged = 0;
// 1 means that the processes exist, and 2 that the job has been aborted.
CANOPY_MPIR volatile int MPIR_debug_state = 0;
// 1 means that the launcher is not a process of the job.
CANOPY_MPIR int MPIR_i_am_starter = 1;
// 1 means that processes to which the debugger does not attach continue.
CANOPY_MPIR int MPIR_partial_attach_ok = 1;

CANOPY_MPIR __attribute__((noinline)) void MPIR_Breakpoint(void) {
  __asm__ volatile("" ::: "memory");
}

}  // extern "C"

namespace canopy::cli {
namespace {

constexpr auto kWorthIt = std::chrono::seconds(1);
constexpr int kSpawned = 1;
constexpr uint32_t kMaxPid = 1 << 22;

// Returns the first directory that is on this machine, or an empty string.
std::string OwnDirectory(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    struct stat info;
    if (stat(directory.c_str(), &info) == 0) return directory;
  }
  return "";
}

// Returns the output of canopy-tool, or no value if it cannot be run or fails.
std::optional<std::string> RunTool(std::vector<std::string> words) {
  const std::string program = ProgramBeside("CANOPY_TOOL", "canopy-tool");
  words.insert(words.begin(), program);
  Result<ProgramOutput> output =
      RunProgram(program, std::move(words), /*quiet=*/true);
  if (!output.ok() || output->status != 0) return std::nullopt;
  return std::move(output->text);
}

// The table is never freed, because a debugger may read it at any time.
void Publish(const std::vector<MpirProcess>& processes) {
  auto* const table = new MPIR_PROCDESC[processes.size()];
  for (size_t i = 0; i < processes.size(); ++i) {
    table[i] = {strdup(processes[i].host.c_str()),
                strdup(processes[i].program.c_str()), processes[i].pid};
  }
  MPIR_proctable = table;
  MPIR_proctable_size = static_cast<int>(processes.size());
  MPIR_debug_state = kSpawned;
}

}  // namespace

bool IsTraced() { return MPIR_being_debugged != 0; }

std::optional<std::vector<MpirProcess>> ReadProcessTable(
    std::string_view text) {
  std::vector<MpirProcess> out;
  for (const std::string& line : Split(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string> parts = Split(line, '\t');
    if (parts.size() != 4 || ParseNumber(parts[0]) != out.size()) {
      return std::nullopt;
    }
    const auto pid = ParseNumber(parts[1], kMaxPid);
    if (!pid || *pid == 0) return std::nullopt;
    out.push_back({parts[2], parts[3], static_cast<int>(*pid)});
  }
  return out;
}

MpirTable::~MpirTable() {
  std::thread thread;
  {
    const MutexLock lock(mu_);
    state_ = State::kOver;
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void MpirTable::OnRunning(const std::string& nspace) {
  const MutexLock lock(mu_);
  if (state_ != State::kNew) return;
  state_ = State::kRunning;
  nspace_ = nspace;
  due_ = Clock::now() + kWorthIt;
}

int MpirTable::OnTick() {
  const MutexLock lock(mu_);
  if (state_ != State::kRunning) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(due_ - Clock::now());
  if (!IsTraced() && left.count() > 0) return static_cast<int>(left.count());
  state_ = State::kFilling;
  // Without the thread, the job runs and debuggers do not find its processes.
  Result<std::thread> thread =
      StartThread([this, nspace = nspace_] { Fill(nspace); });
  if (thread.ok()) thread_ = *std::move(thread);
  return -1;
}

void MpirTable::Fill(const std::string& nspace) const {
  const std::string directory = OwnDirectory(directories_);
  if (directory.empty()) return;
  const auto text = RunTool({directory, "table", nspace});
  const auto processes = text ? ReadProcessTable(*text) : std::nullopt;
  if (processes) Publish(*processes);
  if (!IsTraced()) return;
  if (!processes) PrintError("there is no table of processes for the debugger");
  MPIR_Breakpoint();
  (void)RunTool({directory, "event", nspace, "", "PMIX_DEBUGGER_RELEASE", ""});
}

}  // namespace canopy::cli
