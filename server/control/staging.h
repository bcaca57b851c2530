// Copies files to the nodes of jobs before their launch (PMIX_PRELOAD_BIN,
// PMIX_PRELOAD_FILES).
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

// The location of a job's files.
struct FileSource {
  // The node of the overlay that has the files; `items` names them there. No
  // value: the launcher has the files, and sends the archive (Staging::Offer).
  std::optional<JobNode> node = std::nullopt;
  std::vector<preload::Item> items = {};
};

// Returns the job that copies the files of another job. One process on each
// node of the other job writes its standard input to files. If `source` names a
// node, one more process, the last, runs there and reads the files.
JobSpec StagingJob(const JobSpec& job, const FileSource& source);

// A staging job copies the files of another job. This class connects the
// staging job's streams: the reader's output is the writers' input, so that one
// flow control covers both, and the bytes are forwarded down the job's tree.
// Only this class knows the staging job, which has no launcher, uses no slots,
// and is not persisted. The staging job lives until the other job is prepared
// on all nodes, because the staging job's directories contain the files.
//
// Staging is also the sink through which the control service sends its inputs
// to the core. It handles inputs about a job that the core does not have yet
// because its files are being copied. Loop thread only.
class Staging : public InputSink {
 public:
  // Called when the files are in place and the job may be launched. Called with
  // an error when the job has ended without having been launched.
  using Done = std::function<void(const std::string& nspace, Status status)>;
  // Called when `bytes` bytes of the archive that were offered have been
  // consumed.
  using Taken = std::function<void(const std::string& nspace, uint64_t bytes)>;

  Staging(Done done, Taken taken)
      : done_(std::move(done)), taken_(std::move(taken)) {}

  void set_sink(InputSink* sink) { sink_ = sink; }

  // Starts to copy. Calls `done` once, later.
  void Begin(std::shared_ptr<const JobSpec> job, const FileSource& source);
  // Passes more bytes of the archive of a job whose launcher has the files. The
  // archive itself marks its end.
  void Offer(const std::string& nspace, Bytes data);

  // These functions are called with all changes, output and consumed input of
  // jobs. They return true if their argument concerns a staging job, and thus
  // no other object.
  bool OnJobChanged(const core::JobChanged& change);
  bool OnOutput(const core::DeliverOutput& output);
  bool OnInputConsumed(const core::InputConsumed& input);

  void OnInput(core::Input input) override;
  void Drain() override { sink_->Drain(); }

 private:
  struct Copy {
    std::string nspace;  // the staging job's
    uint32_t writers = 0;
    bool has_reader = false;
    // number of writers that are complete
    uint32_t written = 0;
    // whether the job that needs the files was launched
    bool launched = false;
    std::string error;                     // error output of the processes
    Status ended_by;                       // reason of a request to end the job
    std::deque<core::InputOffered> input;  // kept until the job is launched
  };

  Copy* Find(const std::string& nspace);
  Copy* FindCopying(const std::string& nspace, std::string* job);
  bool Intercept(const core::Input& input);
  void OnEnded(const std::string& job, const core::JobChanged& change);
  void Launch(const std::string& job, Copy* copy);

  const Done done_;
  const Taken taken_;
  InputSink* sink_ = nullptr;
  std::map<std::string, Copy> copies_;  // by the job that needs the files
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_STAGING_H_
