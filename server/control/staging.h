// Copies files to the nodes of jobs before these are launched
// (PMIX_PRELOAD_BIN, PMIX_PRELOAD_FILES).
#ifndef CANOPY_SERVER_CONTROL_STAGING_H_
#define CANOPY_SERVER_CONTROL_STAGING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"
#include "common/preload/preload_list.h"
#include "common/status.h"
#include "server/core/step/control_actions.h"
#include "server/core/step/control_inputs.h"
#include "server/ports/input_sink.h"

namespace canopy::control {

// Where the files of a job are.
struct FileSource {
  // On this node of an overlay, as these items; none: whoever launches the job
  // has them, and sends the archive (Staging::Offer).
  std::optional<JobNode> node = std::nullopt;
  std::vector<preload::Item> items = {};
};

// The job that copies the files of another: a process on each of its nodes,
// which writes what comes on standard input, and the last one, which reads the
// files, where they are on a node.
JobSpec StagingJob(const JobSpec& job, const FileSource& source);

// The files of a job are copied by a job of the core's, whose streams are
// connected here: the reader's output is the writers' input, so that both flow
// controls are one, and the bytes go down the job's tree. That job is nobody
// else's: it has no launcher, uses no slots, and is not persisted. It lives
// until the other one is prepared everywhere, as its directories have the
// files.
//
// It is a sink for whoever talks to the core about jobs: what concerns one that
// is not there yet, because its files are being copied, is handled here. Loop
// thread only.
class Staging : public InputSink {
 public:
  // The job may be launched: its files are there. Otherwise it has ended
  // without having begun.
  using Done = std::function<void(const std::string& nspace, Status status)>;
  // Bytes of the archive that were offered have been taken.
  using Taken = std::function<void(const std::string& nspace, uint64_t bytes)>;

  Staging(Done done, Taken taken)
      : done_(std::move(done)), taken_(std::move(taken)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Calls `done`, once, later.
  void Begin(std::shared_ptr<const JobSpec> job, const FileSource& source);
  // More of the archive of a job whose launcher has the files. The end is that
  // of the archive itself.
  void Offer(const std::string& nspace, Bytes data);

  // True: it was about a job that copies, and of nobody else's interest. To be
  // called with all changes.
  bool OnJobChanged(const core::JobChanged& change);
  bool OnOutput(const core::DeliverOutput& output);
  bool OnInputConsumed(const core::InputConsumed& input);

  void OnInput(core::Input input) override;
  void Drain() override { sink_->Drain(); }

 private:
  struct Copy {
    std::string nspace;  // of the job that copies
    uint32_t writers = 0;
    bool has_reader = false;
    uint32_t written = 0;                  // writers that have everything
    bool launched = false;                 // the job that the files are for
    std::string error;                     // what a process of it has said
    Status ended_by;                       // why it was told to end
    std::deque<core::InputOffered> input;  // of the job, for later
  };

  Copy* Find(const std::string& nspace);
  Copy* FindCopying(const std::string& nspace, std::string* job);
  bool Intercept(const core::Input& input);
  void OnEnded(const std::string& job, const core::JobChanged& change);
  void Launch(const std::string& job, Copy* copy);

  const Done done_;
  const Taken taken_;
  InputSink* sink_ = nullptr;
  std::map<std::string, Copy> copies_;  // by the job that the files are for
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_STAGING_H_
