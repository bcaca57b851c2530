// Opens files and writes a job's output into them, on its own thread, because a
// file system may block it.
#ifndef CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
#define CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// The number of bytes of output in each file. If both streams go to one file,
// `error` stays 0.
struct OutputPositions {
  uint64_t output = 0;
  uint64_t error = 0;
};

// Loop thread only.
class OutputWriter {
 public:
  // Reports that another `pieces` pieces were written. An error status,
  // reported once for each file, means that the file cannot be written and
  // further output for it is dropped. Not called during Write, nor before
  // Opened.
  using Done = std::function<void(size_t pieces, const OutputPositions& at,
                                  const Status& status)>;

  // Reports once whether the files could be opened, and the position of the
  // first piece. An error status names the file that cannot be opened and the
  // reason; then all output is dropped.
  using Opened =
      std::function<void(const Status& status, const OutputPositions& begin)>;

  // Begins to open the files. If `from` has no value, the job is new and its
  // files are created or emptied; otherwise the job continues and everything
  // after `from` is removed. `held` is kept until the files are open or cannot
  // be opened, even if the writer is destroyed before.
  OutputWriter(EventLoop* loop, HostOutput names,
               std::optional<OutputPositions> from, std::shared_ptr<void> held,
               Opened opened, Done done);
  // After the destruction, queued pieces may still be written, but no callback
  // is called.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // Queues output for the file of standard error if `error`, else for that of
  // standard output. May be called before the files are open.
  void Write(bool error, Bytes data);

 private:
  struct Shared;

  static void Open(const std::shared_ptr<Shared>& shared,
                   const HostOutput& names,
                   const std::optional<OutputPositions>& from);
  // Reports to the loop whether the files were opened.
  static void Report(const std::shared_ptr<Shared>& shared,
                     const Status& status);
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
