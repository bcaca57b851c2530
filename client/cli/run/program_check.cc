#include "client/cli/run/program_check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/table.h"
#include "client/cli/base/timeline.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/program_notes.h"
#include "client/cli/run/run_client.h"
#include "client/cli/run/run_documents.h"
#include "client/cli/run/run_launch.h"
#include "client/cli/run/run_place.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

// Stores the answers of the nodes. Its methods are never called concurrently.
class Answers : public RunObserver {
 public:
  void OnMapped(const v1c::JobMapped& mapped) override {
    num_nodes_ = static_cast<uint64_t>(mapped.nodes_size());
  }
  void OnSpawnedEnd(const v1c::SpawnedEnd&) override {}
  void OnNotice(const std::string&) override {}
  void OnProgress(const v1c::Progress&) override {}
  void OnProgramNotes(const v1c::ProgramNotes& notes) override {
    notes_ = notes;
  }
  OutputFate OnOutput(const v1c::Output&) override {
    return OutputFate::kWritten;
  }
  int OnTick() override { return -1; }

  const v1c::ProgramNotes& notes() const { return notes_; }
  // Returns the number of nodes whose agents have not reported a finding,
  // because their versions do not check programs.
  uint64_t num_silent() const {
    uint64_t answered = 0;
    for (const v1c::ProgramNote& note : notes_.notes()) {
      answered += note.count();
    }
    return num_nodes_ - std::min(num_nodes_, answered);
  }

 private:
  uint64_t num_nodes_ = 0;
  v1c::ProgramNotes notes_;
};

Result<RunOptions> OneOnEachNode(const ProgramCheck& check) {
  std::vector<std::string> args = {"--map-by", "ppr:1:node", "--oversubscribe",
                                   "--stdin", "none"};
  if (!check.inject.empty()) {
    args.insert(args.end(), {"--inject", check.inject});
  }
  if (!check.context.empty()) {
    args.insert(args.end(), {"--context", check.context});
  }
  args.insert(args.end(), {"--", check.program});
  return ParseRunOptions(args,
                         [](const char* name) { return std::getenv(name); });
}

std::string TextOf(const ProgramCheck& check, const Answers& answers) {
  if (!check.json) return NotesAtLength(answers.notes());
  Json out;
  out["notes"] = NotesJson(answers.notes());
  return DocumentText(out);
}

int Print(const ProgramCheck& check, const Answers& answers) {
  const int code = PrintText(TextOf(check, answers));
  if (answers.num_silent() > 0) {
    PrintError(
        check.inject == "never"
            ? "a program keeps its own libraries "
              "with --inject never"
            : Count(answers.num_silent(), "node") +
                  (answers.num_silent() == 1
                       ? " did not answer; its agent may be of an older version"
                       : " did not answer; their agents may be of an older "
                         "version"));
  }
  return code;
}

}  // namespace

int CheckProgram(const ProgramCheck& check, RemoteAgents* remote) {
  Result<RunOptions> options = OneOnEachNode(check);
  if (!options.ok()) return FailUsage("doctor", options.status());
  RunPlace place(remote);
  if (Status s = place.Find(*options); !s.ok()) return Fail(s);
  const JobRequest request = MakeRequest(*options);
  if (Status s = CheckWorkingDirectory(request); !s.ok()) return Fail(s);
  v1c::Launch launch = MakeLaunch(request, /*allow_root=*/true);
  launch.set_do_not_launch(true);
  launch.set_check_only(true);
  SignalSource signals;
  const Timeline timeline(false);
  if (Status s = place.Begin(*options, timeline); !s.ok()) return Fail(s);
  auto connection = place.Connect(*options, signals, timeline);
  if (!connection.ok()) return Fail(connection.status());
  RunClientOptions client;
  client.signals = &signals;
  const auto answers = std::make_shared<Answers>();
  const Result<RunOutcome> outcome =
      RunJob(*std::move(connection), launch, client, answers);
  place.End();
  if (!outcome.ok()) return Fail(outcome.status());
  if (!outcome->end.text().empty()) PrintError(outcome->end.text());
  if (const int code = ExitCodeOf(*outcome); code != 0) return code;
  return Print(check, *answers);
}

}  // namespace canopy::cli
